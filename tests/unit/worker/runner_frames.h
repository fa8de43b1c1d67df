// The runner's frames as bytes, for guests that send several at once (one write arrives in one read) or wrong ones.
//
//   guest.SendRaw(StartedFrame() + OutputFrame(1, "before") + ExitedFrame(0) + DoneFrame());
#ifndef MAYFLY_TESTS_UNIT_WORKER_RUNNER_FRAMES_H_
#define MAYFLY_TESTS_UNIT_WORKER_RUNNER_FRAMES_H_

#include <cstdint>
#include <string>

#include "mayfly/runner/v1/runner.pb.h"

namespace mayfly::worker {

std::string Frame(const mayfly::runner::v1::FromRunner& frame);
std::string ReadyFrame(int protocol = 1);
std::string StartedFrame();
std::string OutputFrame(int fd, const std::string& data);
std::string ExitedFrame(int code);
std::string SignalFrame(int signal);
std::string FileHeaderFrame(const std::string& path, int64_t size, int omission = 0);
std::string FileDataFrame(const std::string& data);
std::string DoneFrame(int64_t files_unlisted = 0);
std::string FailedFrame(const std::string& message);

}  // namespace mayfly::worker

#endif  // MAYFLY_TESTS_UNIT_WORKER_RUNNER_FRAMES_H_
