// The elements of a reply that describe a job: app, app version, workunit, result. Their files and
// references are stored as XML; the fields that depend on the host are added here.
#pragma once

#include <cstdint>

#include "project_server/scheduler/ready_jobs.hpp"
#include "project_server/scheduler/version_choice.hpp"
#include "project_server/xml/xml_writer.hpp"

namespace dedloc::server {

/// <app>, and <file_info> and <app_version> with what one job takes of the host.
void write_version(XmlWriter& reply, const UsableVersion& usable, double gpu_memory);

/// <file_info>, <workunit>, <file_info>, <result>. `deadline` is in Unix time.
void write_job(XmlWriter& reply, const Job& job, std::int64_t deadline,
               const PublishedVersion& version);

}  // namespace dedloc::server
