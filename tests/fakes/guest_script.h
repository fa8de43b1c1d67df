// The guest that a FakeContainerd's tasks have unless a test sets another: a well-behaved runner whose "interpreter"
// understands a tiny script, the content of the job's main file. One instruction a line:
//
//   print TEXT      TEXT and a newline to stdout        cat            standard input to stdout, until it ends
//   err TEXT        the same to stderr                  args           argv, one a line, to stdout
//   spam BYTES      so many 'x' to stdout               env            the environment, one a line, to stdout
//   sleep MS        milliseconds                        file PATH SIZE an output file of SIZE 'f', after the exit
//   exit N          ends with that code                 signal N       ends by that signal
//   hang            until killed                        raw HEX        these bytes to the worker, outside all frames
//   die N           the sandbox ends, status N, without a frame        fail TEXT  instead of starting (first line only)
//
// At the script's end the program exits with 0; an instruction it does not know makes it exit with 127.
#ifndef MAYFLY_TESTS_FAKES_GUEST_SCRIPT_H_
#define MAYFLY_TESTS_FAKES_GUEST_SCRIPT_H_

#include "tests/fakes/fake_guest.h"

namespace mayfly::fakes {

// Plays one task from `ready` to `done`.
void RunScriptGuest(FakeGuest& guest);

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_GUEST_SCRIPT_H_
