// The program hiway: its commands, and how it ends.
//
//   0  done; for run: verified, or verifying was switched off; for plan: it fits
//   1  failed while running, or the result differs from the reference's, or a bench is not right;
//      for plan: it does not fit, or does not run
//   2  bad arguments, bad input, a device that is not there: one line on stderr, nothing on stdout, no file touched
//   3  plan cannot tell
#pragma once
#include "cli/command.hpp"

namespace cli {

/// Runs the command line with these commands. Does not throw.
int run_program(int argc, char const* const* argv, Commands const& commands);

}  // namespace cli
