// The reverse of install.cpp, in the reverse order: first bin/start forgets the daemons, the
// manifest goes last.
#include "project_server/official/remove.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/folder_lock.hpp"
#include "project_server/database/host_blacklist.hpp"
#include "project_server/database/schema.hpp"
#include "project_server/official/apache.hpp"
#include "project_server/official/entries.hpp"
#include "project_server/official/jobs.hpp"
#include "project_server/official/manifest.hpp"
#include "project_server/official/project.hpp"
#include "project_server/official/xml_file.hpp"

namespace dedloc::official {
namespace {

namespace fs = std::filesystem;

/// How long a removal waits for daemons that bin/stop has told to end.
constexpr std::chrono::seconds kEndOfDaemons{60};
constexpr std::chrono::milliseconds kLookAgain{50};

void remove_durably(const fs::path& file) {
    std::error_code failed;
    fs::remove_all(file, failed);
    if (failed) {
        throw IoError(fmt::format("cannot delete {}: {}", file.string(), failed.message()));
    }
    platform::sync_folder_of(file);
}

bool is_empty_folder(const fs::path& folder) {
    return !fs::exists(folder) || fs::is_empty(folder);
}

class Remover final {
  public:
    Remover(const RemoveOptions& options, const Report& report)
        : options_(options),
          report_(report),
          project_(options.project),
          manifest_(read_manifest(root()).value_or(Manifest{})),
          tables_(project_.tables()),
          drops_(options.drops_data || !has_data()) {}

    std::size_t run() {
        require_stopped();
        config();
        limits();
        plan_classes();
        files();
        programs();
        app();
        blacklist();
        tables();
        traces();
        state();
        return done_;
    }

  private:
    const fs::path& root() const { return project_.root(); }
    fs::path folder() const { return root() / kFolder; }

    template <class Apply>
    void step(const std::string& what, bool is_there, const Apply& apply) {
        if (!is_there) return;
        ++done_;
        if (options_.is_dry) return report_("would", what);
        apply();
        report_("done", what);
    }

    bool has_data();
    std::string running() const;
    void require_stopped() const;
    std::string settings() const;
    void config();
    void limits();
    void plan_classes();
    void finish(XmlFile& xml, const char* name, const XmlPath& root_path, const std::string& what);
    void files();
    void programs();
    void app();
    void blacklist();
    void tables();
    void traces();
    void state();

    const RemoveOptions& options_;
    const Report& report_;
    Project project_;
    const Manifest manifest_;
    const std::vector<std::string> tables_;
    const bool drops_;  ///< data go as well
    std::size_t done_ = 0;
};

bool Remover::has_data() {
    if (!is_empty_folder(folder() / "runs")) return true;
    const auto reference = server::reference_tables();
    return std::ranges::any_of(tables_, [&](const std::string& table) {
        return std::ranges::find(reference, table) == reference.end() &&
               project_.database().query_one(fmt::format("select 1 from {} limit 1", table));
    });
}

/// What runs, as a sentence without its advice; empty: nothing does.
std::string Remover::running() const {
    const auto daemons = project_.running();
    if (!daemons.empty()) return fmt::format("{} run", fmt::join(daemons, ", "));
    if (!fs::exists(folder() / "runs")) return {};
    for (const auto& run : fs::directory_iterator{folder() / "runs"}) {
        try {
            const platform::FolderLock lock{run.path()};
        } catch (const IoError&) {
            return fmt::format("the backbone of the run {} works", run.path().filename().string());
        }
    }
    return {};
}

/// bin/stop does not wait until the daemons have ended, so this does.
void Remover::require_stopped() const {
    const auto deadline = std::chrono::steady_clock::now() + kEndOfDaemons;
    for (std::string what = running(); !what.empty(); what = running()) {
        const bool are_ending = fs::exists(root() / "stop_daemons");  // bin/start deletes it
        if (!are_ending || std::chrono::steady_clock::now() >= deadline) {
            throw InputError(fmt::format("{}: stop the project with bin/stop first", what));
        }
        std::this_thread::sleep_for(kLookAgain);
    }
}

void Remover::config() {
    XmlFile xml{root(), kConfigFile, "boinc"};
    xml.text().remove(kDaemonsPath, is_of_ours);
    xml.restore(kDaemonsPath, manifest_);
    xml.text().remove(kTasksPath, is_of_ours);
    xml.restore(kTasksPath, manifest_);
    xml.text().remove(kConfigPath, is_setting);
    const std::string kept = drops_ ? std::string{} : settings();
    step("config.xml: daemons, task and settings", xml.is_changed(), [&] {
        if (!kept.empty()) platform::replace_file(root() / kSettingsFile, kept);
        xml.write();
    });
}

/// The settings in config.xml, for the next installation.
std::string Remover::settings() const {
    const XmlFile xml{root(), kConfigFile, "boinc"};
    std::string lines;
    for (const auto& child : xml.text().children(kConfigPath)) {
        if (!is_setting(child)) continue;
        lines += fmt::format("    <{0}>{1}</{0}>\n", child.name, escape_markup(child.text));
    }
    return lines.empty() ? lines : fmt::format("<config>\n{}</config>\n", lines);
}

/// Writes the file, or deletes it if install() has made it and nothing is left in it.
void Remover::finish(XmlFile& xml, const char* name, const XmlPath& root_path,
                     const std::string& what) {
    const fs::path file = root() / name;
    const bool is_empty = manifest_.created.contains(name) && fs::exists(file) &&
                          xml.text().children(root_path).empty();
    step(fmt::format("{}: {}", name, what), xml.is_changed() && fs::exists(file), [&] {
        if (is_empty) {
            remove_durably(file);
        } else {
            xml.write();
        }
    });
}

void Remover::limits() {
    XmlFile xml{root(), kLimitsFile, "config"};
    const auto key = fmt::format("{}: one job of {} a host and GPU", kLimitsFile, kApp);
    if (manifest_.added.contains(key)) {
        xml.text().remove(kLimitsPath,
                          [](const XmlChild& child) { return child.field("app_name") == kApp; });
        xml.restore(kLimitsPath, manifest_);
    }
    finish(xml, kLimitsFile, {"config"}, "limit of jobs");
}

void Remover::plan_classes() {
    XmlFile xml{root(), kPlanClassFile, "plan_classes"};
    xml.text().remove(kPlanClassesPath, [&](const XmlChild& child) {
        return manifest_.added.contains(
            fmt::format("{}: plan class {}", kPlanClassFile, child.field("name")));
    });
    xml.restore(kPlanClassesPath, manifest_);
    finish(xml, kPlanClassFile, kPlanClassesPath, "plan classes");
}

void Remover::files() {
    const fs::path file = root() / kTemplateFile;
    if (!fs::exists(file)) return;
    const auto written = manifest_.written.find(kTemplateFile);
    const bool is_ours = written != manifest_.written.end() &&
                         written->second.contains(digest_of(platform::read_text(file)));
    if (!is_ours) return report_("kept", fmt::format("{}, as edited", kTemplateFile));
    step(kTemplateFile, true, [&] { remove_durably(file); });
}

void Remover::programs() {
    for (const char* const program : kPrograms) {
        const fs::path file = root() / "bin" / program;
        std::error_code ignored;
        if (!options_.is_dry) fs::remove(file.string() + ".dedloc", ignored);  // left by a kill -9
        step(fmt::format("bin/{}", program), fs::exists(file), [&] { remove_durably(file); });
    }
}

void Remover::app() {
    if (!has_app(project_)) return;
    const std::string apps = names_of_apps(project_);
    const auto jobs = jobs_in_progress(project_);
    if (options_.drops_data) {
        step(jobs == 0 ? fmt::format("{}: versions, jobs and their files", apps)
                       : fmt::format("{}: versions, jobs and their files, also {} jobs that "
                                     "volunteers have in progress",
                                     apps, jobs),
             true, [&] { erase(project_); });
        return;
    }
    report_("kept", fmt::format("{} with its versions: --drop-data deletes them", apps));
    if (jobs > 0) {
        report_("kept", fmt::format("{} jobs in progress: they wait until DeDLOC is installed "
                                    "again, or end at their deadline",
                                    jobs));
    }
    const fs::path removed = folder() / "removed";
    if (drops_ || fs::exists(removed)) return;
    step(fmt::format("{}: jobs that no volunteer has are cancelled, and no more are sent", apps),
         true, [&] {
             withdraw(project_);
             platform::replace_file(removed, std::string_view{});
         });
}

/// Nothing keeps bans and blacklist equal any more, so BOINC's rows become as they were.
void Remover::blacklist() {
    const bool has_table = std::ranges::find(tables_, "dedloc_blacklisted_host") != tables_.end();
    const bool has_rows = has_table && project_.database().query_one(
                                           "select hostid from dedloc_blacklisted_host limit 1");
    step("database: banned computers are not blacklisted any more", has_rows,
         [&] { server::clear_host_blacklist(project_.database()); });
}

void Remover::tables() {
    if (!drops_) return report_("kept", "tables dedloc_*, which have rows: --drop-data drops them");
    step("database: tables dedloc_*", !tables_.empty(), [&] {
        for (const auto& table : tables_) {
            project_.database().execute(fmt::format("drop table if exists {}", table));
        }
    });
}

void Remover::traces() {
    for (const auto& file : project_.traces()) {
        const bool is_log = file.extension() != ".pid" && file.extension() != ".lock";
        step(fs::relative(file, root()).string(), drops_ || !is_log, [&] { remove_durably(file); });
    }
}

void Remover::state() {
    if (!drops_) {
        report_("kept", "dedloc/: runs, keys, settings and logs");
        const fs::path apache = root() / kApacheFile;
        const bool forwards = fs::exists(apache) && platform::read_text(apache) != apache_nothing();
        step(fmt::format("{}: forwards nothing any more", kApacheFile), forwards,
             [&] { platform::replace_file(apache, apache_nothing()); });
        step("dedloc/install.json", fs::exists(manifest_file(root())),
             [&] { remove_durably(manifest_file(root())); });
        return;
    }
    step("dedloc/", fs::exists(folder()), [&] {
        for (const auto& part : fs::directory_iterator{folder()}) {
            if (part.path() != manifest_file(root())) remove_durably(part.path());
        }
        remove_durably(folder());
    });
}

}  // namespace

std::size_t remove(const RemoveOptions& options, const Report& report) {
    return Remover{options, report}.run();
}

}  // namespace dedloc::official
