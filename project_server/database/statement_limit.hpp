// The longest statement that the database must take.
#pragma once

#include <cstddef>
#include <string>

#include "peer/formats/run_file.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Creates a run, whose description doubles if each of its bytes must be quoted. The report of
/// several jobs at once may be longer, and is then stored without its free texts.
inline constexpr std::size_t kLongestStatement =
    2 * formats::kMaxRunFileBytes + (std::size_t{64} << 10);

/// Why the server does not take such a statement and what to set, in one sentence; empty: it does.
/// Errors: DatabaseError.
std::string statement_limit_fault(Database& database);

/// Refuses such a server. Errors: InputError with that sentence, DatabaseError.
void require_statement_limit(Database& database);

}  // namespace dedloc::server
