// Config value: one scalar of a configuration file, from text to a protobuf field, as the field's `rule` option says.
//
// Kinds: string, bool, int32, int64, double, google.protobuf.Duration ("1m30s") and, for int64 with `rule.size`, sizes
// ("128MiB"). Functions are pure and thread-safe.
#ifndef MAYFLY_DAEMON_CONFIG_VALUE_H_
#define MAYFLY_DAEMON_CONFIG_VALUE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "mayfly/config/v1/config.pb.h"

namespace mayfly::daemon {

// The `rule` option of `field`; all zero when it has none.
const mayfly::config::v1::Rule& RuleOf(const google::protobuf::FieldDescriptor& field);

// Whether SetConfigValue takes `field`: it is singular and of a kind above.
bool IsScalar(const google::protobuf::FieldDescriptor& field);

// Sets `field` of `message` to what `text` says. Returns "", or what is wrong with it, with value and range, to stand
// behind the key: `"12MiB" is not in the range 64MiB to 1TiB`; `message` is then unchanged. Requires IsScalar(field).
std::string SetConfigValue(absl::string_view text, const google::protobuf::FieldDescriptor& field,
                           google::protobuf::Message* message);

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_CONFIG_VALUE_H_
