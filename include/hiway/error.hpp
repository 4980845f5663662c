// Errors that hiway throws. Expected outcomes (full, empty, ended) are return values, never errors.
#pragma once
#include <stdexcept>
#include <string>

namespace hiway {

/// A place in a text that was read, counted from 1; line 0: it does not come from a text.
struct TextPlace {
  int line = 0;
  int column = 0;
};

/// Base of everything hiway throws.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A pipeline, tunnel, stage or launch was described wrongly; thrown before anything runs, all problems in one message.
struct ConfigError : Error {
  using Error::Error;
};
/// A call that is wrong whatever the data: a put after close, one end_task too many, a warp operation without the
/// calling lane.
struct MisuseError : Error {
  using Error::Error;
};
/// A `_d` function on a CPU thread, or an `_h` function on a device.
struct WrongDevice : MisuseError {
  using MisuseError::MisuseError;
};
/// A stage failed: its own exception (nested, see std::rethrow_if_nested), `fail_h` or `fail_d`. The text names the
/// stage.
struct StageError : Error {
  using Error::Error;
};
/// A CUDA call failed: file, line, call, and the stage or tunnel that it belongs to.
struct CudaError : Error {
  using Error::Error;
};
/// The run was ended before it was done: by `abort()`, its deadline, a stall, or an `end_time_out` that was too short.
struct Aborted : Error {
  using Error::Error;
};
/// A put at an open inlet after Pipeline::drain().
struct Drained : Error {
  using Error::Error;
};
/// There is no device with the requested name.
struct NoDevice : ConfigError {
  using ConfigError::ConfigError;
};

}  // namespace hiway
