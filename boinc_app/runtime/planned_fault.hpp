// Faults that a tester asks an app for, as BOINC's sample apps have them: how client and project
// handle a job that fails is tested with the real app.
#pragma once

#include <string>

namespace dedloc::runtime {

/// A fault after some counted work.
struct PlannedFault {
    /// What fails.
    enum class Kind {
        kExit,   ///< the process ends with exit status 1
        kCrash,  ///< it ends with SIGSEGV
        kHang,   ///< its main thread, which obeys the BOINC client, does not answer any more
    };
    Kind kind = Kind::kExit;  ///< how the process fails
    unsigned commits = 1;     ///< counted contributions before the fault, at least 1
};

/// Parses "exit", "crash" or "hang", with "@N" for a fault after N counted contributions (1 to
/// 1,000,000). Errors: InputError.
PlannedFault parse_fault(const std::string& text);

/// The fault: with kHang it does not return, with the other kinds the process ends. Logs one line
/// before. Thread: main.
[[noreturn]] void fail_as_planned(const PlannedFault& fault);

}  // namespace dedloc::runtime
