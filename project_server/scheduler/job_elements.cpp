#include "project_server/scheduler/job_elements.hpp"

#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

/// Writes the elements of `document` as they are, and into the element `name` first the fields of
/// `before`, then its own, then those of `after`.
void write_document(XmlWriter& reply, std::string_view document, std::string_view name,
                    const XmlWriter& before, const XmlWriter& after) {
    XmlReader reader{document};
    while (const auto element = reader.next()) {
        if (element->name != name) {
            reply.raw(element->whole);
            continue;
        }
        reply.open(name);
        reply.raw(before.text());
        XmlReader fields{element->body};
        while (const auto field = fields.next()) reply.raw(field->whole);
        reply.raw(after.text());
        reply.close(name);
    }
}

}  // namespace

void write_version(XmlWriter& reply, const UsableVersion& usable, double gpu_memory) {
    const PublishedVersion& version = *usable.version;
    reply.open("app");
    reply.add("name", version.app);
    reply.add("user_friendly_name", version.friendly_name);
    reply.add("non_cpu_intensive", static_cast<int>(version.is_non_cpu_intensive));
    reply.add("fraction_done_exact", static_cast<int>(version.has_exact_fraction));
    reply.close("app");
    XmlWriter after;
    after.add("platform", version.platform);
    after.add("plan_class", version.plan_class);
    after.add("avg_ncpus", usable.usage.cpus);
    after.add("flops", usable.usage.flops);
    if (usable.usage.resource == Resource::kNvidia) {
        after.open("coproc");
        after.add("type", type_of(Resource::kNvidia));
        after.add("count", 1.0);
        after.close("coproc");
        after.add("gpu_ram", gpu_memory);
    }
    write_document(reply, version.document, "app_version", {}, after);
}

void write_job(XmlWriter& reply, const Job& job, std::int64_t deadline,
               const PublishedVersion& version) {
    XmlWriter of_workunit;
    of_workunit.add("rsc_fpops_est", job.fpops_est);
    of_workunit.add("rsc_fpops_bound", job.fpops_bound);
    of_workunit.add("rsc_memory_bound", job.memory);
    of_workunit.add("rsc_disk_bound", job.disk + version.slot_bytes);
    of_workunit.add("name", job.workunit_name);
    of_workunit.add("app_name", version.app);
    write_document(reply, job.workunit_document, "workunit", of_workunit, {});
    XmlWriter before;
    before.add("report_deadline", deadline);
    before.add("wu_name", job.workunit_name);
    before.add("name", job.name);
    XmlWriter after;
    after.add("platform", version.platform);
    after.add("version_num", version.number);
    after.add("plan_class", version.plan_class);
    write_document(reply, job.result_document, "result", before, after);
}

}  // namespace dedloc::server
