#include "project_server/project/restore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/clock.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/privileges.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/restored_votes.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/database/dump.hpp"
#include "project_server/database/schema.hpp"
#include "project_server/project/archive.hpp"
#include "project_server/project/external_database.hpp"
#include "project_server/project/project.hpp"
#include "project_server/project/unfinished_folder.hpp"
#include "project_server/project/upgrade.hpp"
#include "project_server/xml/xml_text.hpp"

namespace dedloc::project {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFactsBytes = 64 << 10;
constexpr std::size_t kMaxText = 4'096;
constexpr std::uint64_t kMaxTime = std::uint64_t{1} << 40;
/// Ids that may have been given out between the backup and the restore; a client that has such a
/// job or computer must not meet another one of that number. The columns have 31 bits.
constexpr std::int64_t kSkippedIds = 1'000'000;

/// backup.json.
struct Facts {
    fs::path folder;  ///< the backed-up project's
    std::int64_t created_at = 0;
};

Facts read_facts(const std::string& text, const std::string& document) {
    const auto json = formats::parse_json(document, text, kMaxFactsBytes);
    formats::JsonFields fields{json, "", document};
    const auto format = fields.text("format", kMaxText);
    if (format != kBackupFormat) {
        fields.refuse("format", fmt::format("is \"{}\": this program restores \"{}\"", format,
                                            kBackupFormat));
    }
    for (const char* const known : {"program", "name", "url"}) fields.text(known, kMaxText);
    Facts facts{.folder = fields.text("folder", kMaxText),
                .created_at = static_cast<std::int64_t>(fields.integer("created_at", 0, kMaxTime))};
    fields.finish();
    return facts;
}

/// Replaces the text of an element of config.xml; an empty one removes it.
void set_element(server::XmlText& xml, const std::string& name, const std::string& text) {
    const server::XmlPath config{"boinc", "config"};
    xml.remove(config, [&](const server::XmlChild& child) { return child.name == name; });
    if (text.empty()) return;
    xml.append(config, fmt::format("<{0}>{1}</{0}>", name, escape_markup(text)));
}

/// `path` in the new folder, if it was in the old one.
std::string moved(const std::string& path, const fs::path& from, const fs::path& to) {
    const std::string before = from.string() + "/";
    return path.starts_with(before) ? (to / path.substr(before.size())).string() : path;
}

/// The four folders in config.xml are absolute.
void move_config(const fs::path& file, const fs::path& from, const fs::path& to,
                 const server::DatabaseSettings& database) {
    server::XmlText xml{platform::read_text(file), file.string(), "boinc"};
    for (const auto& child : xml.children({"boinc", "config"})) {
        const auto text = moved(child.text, from, to);
        if (text != child.text) set_element(xml, child.name, text);
    }
    for (const auto& [name, text] : server::database_elements(database)) {
        set_element(xml, name, text);
    }
    platform::replace_file(file, xml.text(), platform::kSecretFile);
}

/// One restore under way.
class RestoreRun {
  public:
    RestoreRun(const RestoreOptions& options, const BackupWatch& watch)
        : options_(options), target_(target_of(options)), folder_(target_), watch_(watch) {
        if (options.database) external_.emplace(*options.database);
    }

    Restored run() {
        const fs::path root = folder_.path();
        fs::permissions(root, fs::perms::owner_all);
        unpack();
        make_project_folders(root);
        auto settings = server::read_settings(root);
        require_unprivileged(settings);
        if (fs::exists(root / mail_file())) {
            settings.mail_credentials = target_ / mail_file();
            server::write_settings(root, settings);
        }
        move_config(root / "config.xml", facts_.folder, target_, database_of(settings));
        if (external_) {
            fill(external_->settings());
        } else {
            fill_own(settings);
        }
        Restored restored{.folder = target_,
                          .name = settings.name,
                          .url = settings.url,
                          .created_at = facts_.created_at,
                          .runs = begin_runs(),
                          .notes = notes_of(settings)};
        folder_.finish();
        if (external_) external_->keep();
        return restored;
    }

  private:
    static fs::path target_of(const RestoreOptions& options) {
        auto target = fs::absolute(options.folder).lexically_normal();
        if (!target.has_filename()) target = target.parent_path();
        check_path(target);
        return target;
    }
    static const char* mail_file() { return "keys/mail_credentials"; }

    void unpack() {
        progress_.total = fs::file_size(options_.backup);
        ArchiveReader archive{options_.backup, [this](std::uint64_t bytes) {
                                  progress_.done += bytes;
                                  progress_.total = std::max(progress_.total, progress_.done);
                                  watch_(progress_);
                              }};
        const auto first = archive.next();
        if (!first || first->name != kBackupFactsName) {
            throw InputError(fmt::format("{} is no backup of a project", options_.backup.string()));
        }
        facts_ = read_facts(archive.read_text(kMaxFactsBytes),
                            fmt::format("{} in {}", kBackupFactsName, options_.backup.string()));
        while (const auto entry = archive.next()) {
            if (entry->name == kBackupReadmeName) {
                archive.read_text(kMaxFactsBytes);
                continue;
            }
            const auto file = place_of(*entry);
            fs::create_directories(file.parent_path());
            archive.extract(file, entry->mode & 0777U);
            if (folders_.insert(file.parent_path()).second) continue;
        }
        if (!fs::exists(dump())) {
            throw InputError(fmt::format("{} has no database", options_.backup.string()));
        }
        for (const auto& parent : folders_) platform::sync_folder_of(parent / "any");
    }
    /// The path that a file of the archive is written to.
    fs::path place_of(const ArchiveEntry& entry) const {
        const std::string prefix = kBackupProjectPrefix;
        if (entry.name.starts_with(prefix))
            return folder_.path() / entry.name.substr(prefix.size());
        if (entry.name == kBackupDatabaseName) return dump();
        if (entry.name == kBackupMailName) return folder_.path() / mail_file();
        throw InputError(
            fmt::format("{} has an unknown file {}", options_.backup.string(), entry.name));
    }
    fs::path dump() const { return folder_.path() / kBackupDatabaseName; }

    /// The database that the project gets: that of the options, else one of its own, also if the
    /// backed-up project's was on another server.
    server::DatabaseSettings database_of(const server::Settings& settings) const {
        if (external_) return external_->settings();
        const auto former = server::load_project_config(folder_.path()).database;
        return {.host = "127.0.0.1",
                .port = settings.database_port,
                .socket = "",
                .user = former.user,
                .password = former.password,
                .name = former.name};
    }
    void fill_own(const server::Settings& settings) {
        auto place = mariadb_place(folder_.path(), settings);
        place.port = platform::free_port("127.0.0.1");  // its own may be in use until the start
        server::initialise_mariadb(place);
        const server::MariadbProcess process{place};
        const auto wanted = database_of(settings);
        auto administrator = server::mariadb_administrator(place);
        {
            server::Database connection{administrator};
            server::create_database(connection, wanted);
        }
        administrator.name = wanted.name;
        fill(administrator);
    }
    void fill(const server::DatabaseSettings& settings) {
        server::load_dump(settings, dump(), folder_.path());
        server::Database database{settings};
        server::apply_schema(database);
        skip_ids(database);
        move_paths(database);
        fs::remove(dump());
    }
    static void skip_ids(server::Database& database) {
        for (const char* const table : {"user", "host", "team", "workunit", "result"}) {
            const auto row = database.query_one("select coalesce(max(id), 0) as last from " +
                                                std::string{table});
            database.execute(fmt::format("alter table {} auto_increment = {}", table,
                                         row->integer("last") + kSkippedIds));
        }
    }
    void move_paths(server::Database& database) const {
        const std::string before = facts_.folder.string() + "/";
        database.execute(
            "update dedloc_checkpoint set path = concat(?, substring(path, ?)) where left(path, ?) "
            "= ?",
            {target_.string() + "/", before.size() + 1, before.size(), before});
    }

    /// Every run's backbone may vote from a new generation on.
    std::vector<RestoredRun> begin_runs() const {
        std::vector<RestoredRun> runs;
        std::vector<fs::path> folders;
        for (const auto& entry : fs::directory_iterator{folder_.path() / "runs"}) {
            folders.push_back(entry.path());
        }
        std::ranges::sort(folders);
        for (const auto& folder : folders)
            runs.push_back(begin_run(backbone::read_run_files(folder)));
        return runs;
    }
    RestoredRun begin_run(const backbone::RunFiles& files) const {
        Head head = genesis(files.id, files.run.backbone_key);
        if (fs::exists(files.ledger())) {
            backbone::LedgerReader reader{files.ledger(), {files.id, files.run.backbone_key}};
            while (reader.next()) continue;
            head = reader.place().codec.head();
        }
        const auto now = std::max<std::int64_t>(platform::utc_now().time_since_epoch().count(),
                                                facts_.created_at + 1);
        const std::uint64_t next = std::max(static_cast<std::uint64_t>(now), head.generation + 1);
        const auto voters = backbone::begin_votes_anew(files.folder, next, head);
        const bool is_over = head.step.value() >= files.run.steps;
        return {.name = files.run.name,
                .step = head.step.value(),
                .generation = is_over ? 0 : next,
                .voters = voters};
    }

    static std::vector<std::string> notes_of(const server::Settings& settings) {
        std::vector<std::string> notes;
        for (const auto& file : {settings.certificate, settings.certificate_key}) {
            if (file.empty() || fs::exists(file)) continue;
            notes.push_back(
                fmt::format("{} is not on this machine, and the project needs it", file.string()));
        }
        return notes;
    }

    const RestoreOptions& options_;
    const fs::path target_;
    UnfinishedFolder folder_;
    std::optional<UnfinishedDatabase> external_;
    const BackupWatch& watch_;
    Facts facts_;
    BackupProgress progress_;
    std::set<fs::path> folders_;  ///< those with files
};

}  // namespace

Restored restore(const RestoreOptions& options, const BackupWatch& watch) {
    if (!options.user.empty()) {
        if (!platform::is_root()) throw InputError("only root can restore a project for a --user");
        platform::become_user(options.user);
    }
    if (!fs::is_regular_file(options.backup)) {
        throw InputError(fmt::format("there is no file {}", options.backup.string()));
    }
    return RestoreRun{options, watch}.run();
}

}  // namespace dedloc::project
