// Keeps refused receipts, which dedloc-purge would delete with their jobs, as evidence for the
// administrator: PROJECT/evidence and the table dedloc_suspicion.
#pragma once

#include <filesystem>

#include "project_server/database/database.hpp"
#include "validators/validator.hpp"

namespace dedloc::validation {

/// Copies the receipt to `folder`/receipt_HOST_FAULT, and records the suspicion. One file for each
/// computer and fault: a newer receipt replaces it, and one above 1 MiB is not copied. Errors:
/// IoError, DatabaseError.
void keep_evidence(server::Database& database, const std::filesystem::path& folder,
                   const RefusedReceipt& receipt);

}  // namespace dedloc::validation
