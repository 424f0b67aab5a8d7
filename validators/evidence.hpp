// Keeps refused receipts, which dedloc-purge would delete with their jobs, as evidence for the
// administrator: PROJECT/evidence and the table dedloc_suspicion.
#pragma once

#include <cstdint>
#include <filesystem>

#include "project_server/database/database.hpp"
#include "validators/validator.hpp"

namespace dedloc::validation {

/// Bytes of all evidence of a project.
inline constexpr std::uint64_t kEvidenceQuota = std::uint64_t{256} << 20;

/// Copies the receipt to `folder`/receipt_USER_FAULT, and records the suspicion. One file for each
/// account and fault: a newer receipt replaces it. One above 1 MiB, or that would take the folder
/// above `quota` bytes, is not copied, and of an unreadable one only 64 KiB are; dedloc-purge
/// deletes files of which no suspicion is left. Errors: IoError, DatabaseError.
void keep_evidence(server::Database& database, const std::filesystem::path& folder,
                   const RefusedReceipt& receipt, std::uint64_t quota = kEvidenceQuota);

}  // namespace dedloc::validation
