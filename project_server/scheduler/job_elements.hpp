// The elements of a reply that describe a job: app, app version, workunit, result. Their files and
// references are stored as XML; the fields that depend on the host are added here.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/scheduler/version_choice.hpp"
#include "project_server/scheduler/xml_writer.hpp"

namespace dedloc::server {

/// A job that is being sent.
struct SentJob {
    std::string name;               ///< name of the result
    std::string workunit;           ///< name of the workunit
    double fpops_est = 0;           ///< rsc_fpops_est
    double fpops_bound = 0;         ///< rsc_fpops_bound
    double memory = 0;              ///< rsc_memory_bound, bytes
    double disk = 0;                ///< rsc_disk_bound, bytes, without the files of the app version
    std::string workunit_document;  ///< workunit.xml_doc
    std::string result_document;    ///< result.xml_doc_in
    std::int64_t deadline = 0;      ///< Unix time
};

/// <app>, and <file_info> and <app_version> with what one job takes of the host.
void write_version(XmlWriter& reply, const UsableVersion& usable, double gpu_memory);

/// <file_info>, <workunit>, <file_info>, <result>.
void write_job(XmlWriter& reply, const SentJob& job, const PublishedVersion& version);

}  // namespace dedloc::server
