// Each step compares what is there with what should be there, so a second installation does
// nothing, and one after a kill -9 does what is left. Before a step changes anything the manifest
// says so: the manifest is what `--remove` goes by. config.xml comes last, because bin/start starts
// what it names.
#include "project_server/official/install.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/platform/mapped_file.hpp"
#include "peer/platform/networks.hpp"
#include "peer/platform/ports.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/schema.hpp"
#include "project_server/database/statement_limit.hpp"
#include "project_server/official/apache.hpp"
#include "project_server/official/entries.hpp"
#include "project_server/official/jobs.hpp"
#include "project_server/official/manifest.hpp"
#include "project_server/official/project.hpp"
#include "project_server/official/templates_text.hpp"
#include "project_server/official/xml_file.hpp"
#include "project_server/official_settings.hpp"
#include "project_server/ticket_key.hpp"
#include "project_server/url.hpp"

namespace dedloc::official {
namespace {

namespace fs = std::filesystem;

/// `text` with `blanks` blanks less at the beginning of each line but the first.
std::string outdented(std::string_view text, std::size_t blanks) {
    std::string result;
    std::size_t skipped = blanks;  // in this line
    for (const char c : text) {
        if (c == '\n') {
            skipped = 0;
        } else if (c == ' ' && skipped < blanks) {
            ++skipped;
            continue;
        } else {
            skipped = blanks;
        }
        result += c;
    }
    return result;
}

bool are_equal(const fs::path& a, const fs::path& b) {
    if (!fs::exists(b)) return false;
    if (fs::equivalent(a, b)) return true;
    if (fs::file_size(a) != fs::file_size(b)) return false;
    const platform::MappedFile first{a};
    const platform::MappedFile second{b};
    return std::ranges::equal(first.bytes(), second.bytes());
}

/// Copies a program, also over one that runs: that one goes on with the old file.
void copy_program(const fs::path& source, const fs::path& target) {
    const fs::path copy = target.string() + ".dedloc";
    std::error_code failed;
    fs::copy_file(source, copy, fs::copy_options::overwrite_existing, failed);
    if (!failed) fs::permissions(copy, fs::perms{0755}, failed);
    if (failed) {
        const std::string reason = failed.message();
        fs::remove(copy, failed);
        throw IoError(
            fmt::format("cannot copy {} to {}: {}", source.string(), target.string(), reason));
    }
    platform::sync_file(copy);
    platform::move_file(copy, target);
}

class Installer final {
  public:
    Installer(const InstallOptions& options, const Report& report)
        : options_(options), report_(report), project_(options.project) {
        if (const auto known = read_manifest(root())) {
            manifest_ = *known;
            stored_ = *known;
        }
    }

    std::size_t run() {
        check_programs();
        server::require_statement_limit(project_.database());
        check_files();
        check_plan_classes();
        state();
        tables();
        programs();
        output_template();
        plan_classes();
        limits();
        apache();
        config();
        results();
        return done_;
    }

  private:
    const fs::path& root() const { return project_.root(); }

    /// One thing: `is_there` already, or `apply` makes it.
    template <class Apply>
    void step(const std::string& what, bool is_there, const Apply& apply) {
        if (is_there) return tell("there", what);
        ++done_;
        if (options_.is_dry) return tell("would", what);
        note();
        apply();
        tell("done", what);
    }
    /// Reports at once, or, of an entry in a file, when the file is written.
    void tell(const std::string& outcome, const std::string& what) {
        if (!holds_) return report_(outcome, what);
        held_.emplace_back(outcome, what);
    }
    void write(const XmlFile& xml) {
        xml.write();
        holds_ = false;
        for (const auto& [outcome, what] : held_) report_(outcome, what);
        held_.clear();
    }
    /// Writes the manifest if it has changed.
    void note() {
        if (stored_ == manifest_) return;
        fs::create_directories(root() / kFolder);
        write_manifest(root(), manifest_);
        stored_ = manifest_;
    }

    enum class State : std::uint8_t { kAbsent, kThere, kOld, kEdited };
    /// Compares an entry with the one wanted, and notes the latter as ours.
    State judge(const std::string& key, const std::optional<std::string>& present,
                const std::string& wanted) {
        auto& ours = manifest_.written[key];
        const bool is_ours = present && ours.contains(digest_of(*present));
        ours.insert(digest_of(wanted));
        if (!present) return State::kAbsent;
        if (*present == wanted) return State::kThere;
        return is_ours ? State::kOld : State::kEdited;
    }

    void check_programs() const;
    void check_files() const;
    void check_plan_classes();
    void state();
    void tables();
    void programs();
    void output_template();
    void plan_classes();
    void limits();
    void apache();
    void config();
    void results();
    void file(const char* name, const std::string& wanted,
              const std::optional<std::string>& also_ours = std::nullopt);
    void entry(XmlFile& xml, const XmlPath& path, const std::string& key, const std::string& source,
               const std::function<bool(const XmlChild&)>& is_it,
               const std::function<std::string(const XmlChild&)>& text_of);
    void setting(XmlFile& xml, const char* name, const std::optional<std::string>& wanted,
                 const std::function<std::string()>& usual);
    std::optional<std::string> setting_of(const XmlFile& xml, const char* name) const;
    std::optional<std::string> kept_setting(const char* name) const;
    std::string gateway_port(const XmlFile& xml);
    std::string peer_listen() const;

    const InstallOptions& options_;
    const Report& report_;
    Project project_;
    Manifest manifest_;
    Manifest stored_;
    std::size_t done_ = 0;
    std::string port_;
    bool is_port_new_ = false;  ///< chosen in this installation
    bool holds_ = false;
    std::vector<std::pair<std::string, std::string>> held_;  ///< what to report then
};

void Installer::check_programs() const {
    for (const char* const program : kPrograms) {
        if (!fs::is_regular_file(options_.programs / program)) {
            throw InputError(
                fmt::format("there is no program {}", (options_.programs / program).string()));
        }
    }
}

/// Refuses files that cannot be edited, before anything is changed.
void Installer::check_files() const {
    const XmlFile config{root(), kConfigFile, "boinc"};
    const XmlFile limits{root(), kLimitsFile, "config"};
    const XmlFile plan_classes{root(), kPlanClassFile, "plan_classes"};
}

/// Once there is a plan_class_spec.xml, BOINC's scheduler knows only the plan classes in it.
void Installer::check_plan_classes() {
    if (fs::exists(root() / kPlanClassFile)) return;
    std::string names;
    for (const auto& row : project_.database().query(fmt::format(
             "select distinct v.plan_class from app_version v join app a on a.id = v.appid where "
             "v.deprecated = 0 and a.deprecated = 0 and v.plan_class <> '' and a.name not in {} "
             "order by v.plan_class",
             server::kAppsInSql))) {
        names += (names.empty() ? "" : ", ") + row.text("plan_class");
    }
    if (names.empty()) return;
    throw InputError(fmt::format(
        "the project's versions have the plan classes {} of BOINC's scheduler, which does not know "
        "them any more once there is a plan_class_spec.xml: put their rules into {} first",
        names, (root() / kPlanClassFile).string()));
}

void Installer::state() {
    const fs::path key = root() / kFolder / "keys/project.key";
    manifest_.schema = stored_.schema;
    step("dedloc/: the folder for runs and keys", fs::exists(root() / kFolder / "pids"), [&] {
        for (const char* const name : {"", "runs", "keys", "log", "pids"}) {
            fs::create_directories(root() / kFolder / name);
        }
    });
    step("dedloc/keys/project.key: the key that signs generations, pauses and revocations",
         fs::exists(key), [&] { platform::write_key(key, KeyPair::generate()); });
    const fs::path state = root() / kFolder;
    step("dedloc/keys/ticket.key: the key that signs tickets",
         fs::exists(server::ticket_key_file(state)), [&] { server::make_ticket_key(state); });
}

void Installer::tables() {
    const auto present = project_.tables();
    const auto wanted = server::own_tables();
    const std::string digest = digest_of(std::string{server::schema_text()});
    const bool has_all = std::ranges::all_of(wanted, [&](const std::string& name) {
        return std::ranges::find(present, name) != present.end();
    });
    step(fmt::format("database {}: {} tables dedloc_*", project_.config().database.name,
                     wanted.size()),
         has_all && stored_.schema == digest, [&] {
             server::apply_own_schema(project_.database());
             manifest_.schema = digest;
             note();
         });
    const fs::path removed = root() / kFolder / "removed";
    if (!fs::exists(removed)) return;
    step(fmt::format("{}: offered again", names_of_apps(project_)), false, [&] {
        if (has_app(project_)) offer(project_);
        fs::remove(removed);
    });
}

void Installer::programs() {
    for (const char* const program : kPrograms) {
        const fs::path source = options_.programs / program;
        const fs::path target = root() / "bin" / program;
        step(fmt::format("bin/{}", program), are_equal(source, target),
             [&] { copy_program(source, target); });
    }
}

/// A file of ours whose contents an administrator may edit. `also_ours`: contents that a removal
/// may have left.
void Installer::file(const char* name, const std::string& wanted,
                     const std::optional<std::string>& also_ours) {
    const fs::path path = root() / name;
    std::optional<std::string> present;
    if (fs::exists(path)) present = platform::read_text(path);
    if (also_ours) manifest_.written[name].insert(digest_of(*also_ours));
    const State found = judge(name, present, wanted);
    if (found == State::kEdited) return tell("kept", fmt::format("{}, as edited", name));
    step(name, found == State::kThere, [&] { platform::replace_file(path, wanted); });
}

void Installer::output_template() {
    file(kTemplateFile, std::string{kOutputTemplate});
}

/// Adds an element, or replaces an older one of ours.
void Installer::entry(XmlFile& xml, const XmlPath& path, const std::string& key,
                      const std::string& source, const std::function<bool(const XmlChild&)>& is_it,
                      const std::function<std::string(const XmlChild&)>& text_of) {
    const XmlText wanted{fmt::format("<x>{}</x>", source), key, "x"};
    const auto children = xml.text().children(path);
    const auto present = std::ranges::find_if(children, is_it);
    std::optional<std::string> text;
    if (present != children.end()) text = text_of(*present);
    const State found = judge(key, text, text_of(wanted.children({"x"}).front()));
    if (found == State::kAbsent) manifest_.added.insert(key);
    if (found == State::kEdited) return tell("kept", fmt::format("{}, as edited", key));
    step(key, found == State::kThere, [&] {
        xml.text().remove(path, is_it);
        xml.ensure(path, manifest_);
        note();
        xml.text().append(path, source);
    });
}

void Installer::plan_classes() {
    XmlFile xml{root(), kPlanClassFile, "plan_classes"};
    holds_ = true;
    if (!fs::exists(root() / kPlanClassFile)) manifest_.created.insert(kPlanClassFile);
    const std::string all{kPlanClasses};
    const XmlText ours{all, "templates/plan_class_spec.xml", "plan_classes"};
    for (const auto& plan_class : ours.children(kPlanClassesPath)) {
        const std::string name = plan_class.field("name");
        const std::string source =
            outdented(all.substr(plan_class.begin, plan_class.end - plan_class.begin), 4);
        entry(
            xml, kPlanClassesPath, fmt::format("{}: plan class {}", kPlanClassFile, name), source,
            [&](const XmlChild& child) { return child.field("name") == name; },
            [&](const XmlChild& child) {
                std::string text;
                for (const auto& [field, value] : child.fields) {
                    text += fmt::format("{}={};", field, value);
                }
                return text;
            });
    }
    write(xml);
}

/// A seat in a swarm takes all processors or a whole GPU, so a host has one job at a time for its
/// processors and one for each GPU. The scheduler would send as many as a client's buffer holds.
void Installer::limits() {
    if (!fs::exists(root() / kLimitsFile)) manifest_.created.insert(kLimitsFile);
    XmlFile xml{root(), kLimitsFile, "config"};
    holds_ = true;
    entry(
        xml, kLimitsPath, fmt::format("{}: one job of {} a host and GPU", kLimitsFile, kApp),
        fmt::format("<app>\n    <app_name>{}</app_name>\n    <cpu_limit>\n        "
                    "<jobs>1</jobs>\n    </cpu_limit>\n    <gpu_limit>\n        <jobs>1</jobs>\n"
                    "        <per_proc/>\n    </gpu_limit>\n</app>",
                    kApp),
        [](const XmlChild& child) { return child.field("app_name") == kApp; },
        [&](const XmlChild& child) {
            // What it says in detail is the administrator's: only whether it is there matters.
            return child.field("app_name");
        });
    write(xml);
}

std::optional<std::string> Installer::setting_of(const XmlFile& xml, const char* name) const {
    for (const auto& child : xml.text().children(kConfigPath)) {
        if (child.name == name) return child.text;
    }
    return std::nullopt;
}

/// What an earlier installation had before it was removed.
std::optional<std::string> Installer::kept_setting(const char* name) const {
    if (!fs::exists(root() / kSettingsFile)) return std::nullopt;
    const XmlFile kept{root(), kSettingsFile, "config"};
    for (const auto& child : kept.text().children({"config"})) {
        if (child.name == name) return child.text;
    }
    return std::nullopt;
}

std::string Installer::gateway_port(const XmlFile& xml) {
    if (options_.gateway_port) return std::to_string(*options_.gateway_port);
    if (const auto present = setting_of(xml, server::kGatewayPortElement)) return *present;
    if (const auto kept = kept_setting(server::kGatewayPortElement)) return *kept;
    is_port_new_ = true;
    return std::to_string(platform::free_port("127.0.0.1"));
}

std::string Installer::peer_listen() const {
    const auto url = server::required_url(project_.config().master_url, "<master_url>");
    const bool is_local = url.host == "localhost" || platform::is_loopback_host(url.host);
    return is_local ? "127.0.0.1" : "0.0.0.0";
}

void Installer::apache() {
    const XmlFile xml{root(), kConfigFile, "boinc"};
    port_ = gateway_port(xml);
    auto present = setting_of(xml, server::kGatewayListenElement);
    if (!present) present = kept_setting(server::kGatewayListenElement);
    const std::string host = options_.gateway_listen.value_or(present.value_or("127.0.0.1"));
    file(kApacheFile,
         apache_configuration(project_.config().master_url, host,
                              static_cast<std::uint16_t>(std::stoul(port_))),
         apache_nothing());
}

/// A setting that an option gives replaces the present one. An empty one is not entered.
void Installer::setting(XmlFile& xml, const char* name, const std::optional<std::string>& wanted,
                        const std::function<std::string()>& usual) {
    const auto present = setting_of(xml, name);
    const auto kept = kept_setting(name);
    const std::string value = wanted ? *wanted : present ? *present : kept ? *kept : usual();
    if (value.empty()) return;
    // A dry run and the installation after it do not find the same free port.
    const bool is_guess =
        options_.is_dry && is_port_new_ && name == std::string_view{server::kGatewayPortElement};
    const std::string shown = is_guess ? "(a free port)" : value;
    step(fmt::format("{}: <{}>{}", kConfigFile, name, shown), present && *present == value, [&] {
        xml.text().remove(kConfigPath, [&](const XmlChild& child) { return child.name == name; });
        xml.text().append(kConfigPath, fmt::format("<{0}>{1}</{0}>", name, escape_markup(value)));
    });
}

void Installer::config() {
    XmlFile xml{root(), kConfigFile, "boinc"};
    holds_ = true;
    const auto number = [](const auto& value) {
        return value ? std::optional{std::to_string(*value)} : std::nullopt;
    };
    const auto none = [] { return std::string{}; };
    setting(xml, server::kGatewayPortElement, port_, [&] { return port_; });
    setting(xml, server::kGatewayListenElement, options_.gateway_listen, none);
    setting(xml, server::kGatewayProxyElement, options_.proxy, none);
    setting(xml, server::kPeerListenElement, options_.peer_listen, [&] { return peer_listen(); });
    setting(xml, server::kPeerAddressElement, options_.peer_address, none);
    setting(xml, server::kPeerPortElement, number(options_.peer_port),
            [] { return std::string{"0"}; });
    setting(xml, server::kMaxLinksElement, number(options_.max_links), none);
    setting(xml, server::kSeatsPerAccountElement, number(options_.seats_per_account), none);
    setting(xml, server::kSeatsPerNetworkElement, number(options_.seats_per_network), none);
    for (const Entry& wanted : kEntries) {
        const std::string period = wanted.period;
        const bool is_task = !period.empty();
        const std::string program = program_of(wanted.command);
        const std::string source =
            is_task ? fmt::format("<task>\n    <cmd>{}</cmd>\n    <period>{}</period>\n</task>",
                                  wanted.command, period)
                    : fmt::format("<daemon>\n    <cmd>{}</cmd>\n</daemon>", wanted.command);
        entry(
            xml, is_task ? kTasksPath : kDaemonsPath,
            fmt::format("{}: {} {}", kConfigFile, is_task ? "task" : "daemon", program), source,
            [&](const XmlChild& child) { return program_of(child.field("cmd")) == program; },
            [](const XmlChild& child) { return child.field("cmd"); });
    }
    write(xml);
    if (!options_.is_dry) fs::remove(root() / kSettingsFile);
}

/// Jobs that an earlier version has made say that BOINC's file_deleter deletes their output files,
/// also those that a job need not have, which it then reports as an error.
void Installer::results() {
    const auto count = described_results(project_);
    if (count == 0) return;
    step(fmt::format("database: output files of {} jobs are dedloc-purge's to delete", count),
         false, [&] { describe_results(project_); });
}

}  // namespace

std::size_t install(const InstallOptions& options, const Report& report) {
    if (sodium_init() < 0) throw Error("libsodium cannot start");
    return Installer{options, report}.run();
}

}  // namespace dedloc::official
