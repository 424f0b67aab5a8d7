// Notices for volunteers, which BOINC's clients show: one row of BOINC's table msg_to_host for each
// computer. A scheduler whose config.xml has <msg_to_host> writes the row's xml into its next reply
// to the computer, and a client takes <message priority="notice"> there for the project's notice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// msg_to_host.variety of these rows.
inline constexpr const char* kNoticeVariety = "dedloc_notice";
inline constexpr std::size_t kMaxNotice = 500;  ///< bytes of a notice

/// Queues a notice for each of these computers; returns the number of them. A computer for which
/// the same text waits already gets no second one, nor does one that does not exist. A row waits
/// until the computer asks, and dedloc-purge deletes it after some days, sent or not.
///
/// Errors  InputError: the text is empty, too long, has control characters or is not UTF-8, or has
///         words by which BOINC's clients act; DatabaseError
int send_notice(Database& database, const std::vector<std::int64_t>& hosts, const std::string& text,
                double now);

}  // namespace dedloc::server
