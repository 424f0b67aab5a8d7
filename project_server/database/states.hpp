// The states of rows, as enums with the numbers that the columns hold. An enumerator is a parameter
// of a statement as it is; state_of() reads one from a row.
#pragma once

#include <cstdint>
#include <string_view>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// result.server_state: where a result is between its creation and its end. BOINC's numbers.
enum class ServerState : int {
    kInactive = 1,    ///< must not be sent yet
    kUnsent = 2,      ///< waits for a volunteer
    kInProgress = 4,  ///< a volunteer has it
    kOver = 5,        ///< reported or given up
};

/// result.outcome: how a result ended. BOINC's numbers.
enum class ResultOutcome : int {
    kInit = 0,           ///< it has not ended
    kSuccess = 1,        ///< the client reported success
    kNotSent = 2,        ///< the server found no way to send it
    kClientError = 3,    ///< the client reported a failure
    kNoReply = 4,        ///< not reported by its deadline
    kNotNeeded = 5,      ///< not sent, because its workunit needed it no more
    kValidateError = 6,  ///< the validator refused it
    kDetached = 7,       ///< its client has left the project or started anew
};

/// result.exit_status of a job that did not fail, although its client reports one that did not
/// succeed. BOINC's numbers.
enum class ExitStatus : int {
    kAbortedByProject = 202,    ///< the scheduler has cancelled it
    kAbortedByVolunteer = 203,  ///< the volunteer told the client to abort it
};

/// result.validate_state: the validator's verdict. BOINC's numbers.
enum class ValidateState : int {
    kInit = 0,          ///< none yet
    kValid = 1,         ///< it is right
    kInvalid = 2,       ///< it is wrong
    kNoCheck = 3,       ///< there will be none: its workunit failed
    kInconclusive = 4,  ///< undecided
    kTooLate = 5,       ///< it came after the end of its workunit
};

/// workunit.assimilate_state: what happened to the outcome of a workunit. BOINC's numbers.
enum class AssimilateState : int {
    kInit = 0,   ///< the workunit is open
    kReady = 1,  ///< it has ended, and nothing was done about it yet
    kDone = 2,   ///< it is closed
};

/// workunit.file_delete_state and result.file_delete_state. BOINC's numbers.
enum class FileDeleteState : int {
    kInit = 0,   ///< the files stay
    kReady = 1,  ///< the files are to be deleted
    kDone = 2,   ///< the files are deleted
    kError = 3,  ///< a file could not be deleted
};

/// dedloc_contribution.credit_state.
enum class CreditState : std::uint8_t {
    kPending = 0,   ///< not looked at yet
    kCredited = 1,  ///< paid to the row's resultid
    kWithheld = 2,  ///< committed after the revocation that dedloc_withheld names
    kUnowned = 3,   ///< its key has no ticket of this project, or its account is gone
};

/// The state in a column of a row; a number without a name is none of the enumerators.
template <class State>
State state_of(const Row& row, std::string_view column) {
    return static_cast<State>(row.integer(column));
}

}  // namespace dedloc::server
