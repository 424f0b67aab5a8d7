// The files are published before the row that names them, so clients never learn of an absent file;
// a failure leaves at most files that no row names. For each file document() computes the MD5,
// which becomes part of its permanent name, takes the signature and copies the file, all under a
// shared lock of the key folder. The transaction then locks the version's row and compares whole
// documents: an equal one changes nothing, another one is refused, and without a row one is
// inserted.
#include "project_server/publishing/app_version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/folder_lock.hpp"
#include "project_server/publishing/code_sign_keys.hpp"
#include "project_server/publishing/gzip_file.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/publishing/signatures.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigestDigits = 12;       // digits of the MD5 in a physical name
constexpr std::uintmax_t kMinGzipped = 65'536;  // bytes of a file that clients download compressed
constexpr const char* kOwnPlatform = "x86_64-pc-linux-gnu";
constexpr std::size_t kMaxDocument = 262'143;  // libsched's buffer for app_version.xml_doc

std::string physical_name(const AppFile& file, const std::string& md5) {
    std::string name = file.open_name + '.' + md5.substr(0, kDigestDigits);
    for (char& c : name) {
        const bool plain =
            std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
        if (!plain) c = '_';
    }
    return name;
}

void check_files(const std::vector<AppFile>& files) {
    for (const AppFile& file : files) {
        if (!fs::is_regular_file(file.source)) {
            throw InputError(
                fmt::format("The app's file {} does not exist.", file.source.string()));
        }
        if (file.open_name.empty() || file.open_name.find_first_of("/<>&") != std::string::npos) {
            throw InputError(fmt::format("\"{}\" is not a valid open name.", file.open_name));
        }
    }
}

/// Copies to a temporary name and renames, so that clients never see half a file. A file of the
/// same name and size is already the same file, because names contain the MD5.
void publish_file(const fs::path& source, const fs::path& target) {
    if (fs::exists(target) && fs::file_size(target) == fs::file_size(source)) return;
    const fs::path unfinished = target.string() + ".unfinished";
    std::error_code failure;
    fs::copy_file(source, unfinished, fs::copy_options::overwrite_existing, failure);
    if (failure) {
        const std::string reason = failure.message();
        fs::remove(unfinished, failure);
        throw IoError(
            fmt::format("Cannot copy {} to {}: {}.", source.string(), target.string(), reason));
    }
    platform::sync_file(unfinished);
    platform::move_file(unfinished, target);
}

/// What clients download instead of the file, or nothing. The choice depends on the file only: a
/// file of two versions has one description.
std::string download_of(const fs::path& published, const std::string& name, bool is_gzipped,
                        const ProjectConfig& config) {
    if (is_gzipped && fs::file_size(published) >= kMinGzipped) {
        const auto bytes = gzip_file(published);
        return fmt::format(
            "<gzipped_url>{}/{}.gz</gzipped_url>\n    <gzipped_nbytes>{}</gzipped_nbytes>",
            config.download_url, name, bytes);
    }
    return fmt::format("<url>{}/{}</url>", config.download_url, name);
}

/// The signature is that of the file itself, also where clients download it compressed.
std::string file_info(const AppFile& file, const std::string& name, const std::string& signature,
                      bool is_gzipped, const ProjectConfig& config) {
    const fs::path published = config.download_directory / name;
    publish_file(file.source, published);
    return fmt::format(
        "<file_info>\n    <name>{}</name>\n    {}\n    <executable/>\n"
        "    <file_signature>\n{}    </file_signature>\n    <nbytes>{}</nbytes>\n</file_info>\n",
        name, download_of(published, name, is_gzipped, config), signature,
        fs::file_size(published));
}

std::string file_ref(const AppFile& file, const std::string& name) {
    // Clients start the main program by its physical name. The slot has a file with BOINC's
    // <soft_link> under the name of each other one, which the launcher follows. Nothing is copied.
    std::string text = fmt::format("<file_ref>\n    <file_name>{}</file_name>\n", name);
    if (file.is_main_program) {
        text += "    <main_program/>\n";
    } else {
        text += fmt::format("    <open_name>{}</open_name>\n", file.open_name);
    }
    return text + "</file_ref>\n";
}

std::string document(const AppVersion& version, const ProjectConfig& config,
                     const Signatures& signatures,
                     const std::function<void(const std::string&)>& begins) {
    std::string infos;
    std::string refs;
    for (const AppFile& file : version.files) {
        if (begins)
            begins((version.is_gzipped ? "signing and compressing " : "signing and copying ") +
                   file.open_name);
        const std::string md5 = md5_of_file(file.source);
        const std::string name = physical_name(file, md5);
        infos += file_info(file, name, signatures.of(md5, name), version.is_gzipped, config);
        refs += file_ref(file, name);
    }
    std::string text = infos;
    text += fmt::format(
        "<app_version>\n    <app_name>{}</app_name>\n    <version_num>{}</version_num>\n{}",
        version.app, version.version, refs);
    if (version.dont_throttle) text += "    <dont_throttle/>\n";
    if (version.needs_network) text += "    <needs_network/>\n";
    text += "</app_version>\n";
    if (text.size() > kMaxDocument) {
        throw InputError(
            fmt::format("{} files are too many for one app version: its description "
                        "takes {} bytes, {} are allowed.",
                        version.files.size(), text.size(), kMaxDocument));
    }
    return text;
}

std::int64_t app_id(Database& database, const AppVersion& version) {
    database.execute(
        "insert into app (create_time, name, user_friendly_name, fraction_done_exact, "
        "non_cpu_intensive) values (?, ?, ?, 1, ?) on duplicate key update user_friendly_name = "
        "values(user_friendly_name), non_cpu_intensive = values(non_cpu_intensive)",
        {static_cast<std::int64_t>(unix_now()), version.app, version.friendly_name,
         static_cast<int>(version.is_non_cpu_intensive)});
    return database.query_one("select id from app where name = ?", {version.app})->integer("id");
}

/// The row of a platform. BOINC's bin/xadd makes those of project.xml, which a new official project
/// does not have yet; that of the platform that our programs are built for is made here.
std::int64_t platform_id(Database& database, const std::string& name) {
    const auto found = [&] {
        return database.query_one("select id from platform where name = ?", {name});
    };
    if (const auto row = found()) return row->integer("id");
    if (name != kOwnPlatform) {
        throw InputError(
            fmt::format("The platform {} is not in the project's database: BOINC's bin/xadd adds "
                        "those that project.xml names.",
                        name));
    }
    database.execute(
        "insert ignore into platform (create_time, name, user_friendly_name, deprecated) values "
        "(?, ?, 'Linux running on an AMD x86_64 or Intel EM64T CPU', 0)",
        {static_cast<std::int64_t>(unix_now()), name});
    return found()->integer("id");
}

void publish_bill(const AppVersion& version, const ProjectConfig& config) {
    if (version.bill_of_materials.empty()) return;
    platform::replace_file(config.download_directory / bill_name(version),
                           version.bill_of_materials);
}

void store_kernel(Database& database, std::int64_t id, const std::optional<KernelVersion>& needed) {
    if (!needed) return;
    database.execute(
        "insert into dedloc_app_version (id, kernel_major, kernel_minor) values (?, ?, ?) "
        "on duplicate key update kernel_major = values(kernel_major), "
        "kernel_minor = values(kernel_minor)",
        {id, needed->major, needed->minor});
}

}  // namespace

std::string bill_name(const AppVersion& version) {
    return fmt::format("{}_{}_{}{}{}.cdx.json", version.app, version.version, version.platform,
                       version.plan_class.empty() ? "" : "_", version.plan_class);
}

std::string bill_name(const Row& version) {
    return bill_name({.app = version.text("app"),
                      .friendly_name = {},
                      .version = static_cast<int>(version.integer("version_num")),
                      .platform = version.text("platform"),
                      .plan_class = version.text("plan_class")});
}

std::int64_t add_app_version(Database& database, const ProjectConfig& config,
                             const AppVersion& version, const fs::path& signatures,
                             const std::function<void(const std::string&)>& begins) {
    check_files(version.files);
    const auto mains = std::ranges::count_if(version.files, &AppFile::is_main_program);
    if (mains != 1) {
        throw InputError(
            fmt::format("An app version needs exactly one main program; {} were given.", mains));
    }
    const std::int64_t platform = platform_id(database, version.platform);
    const fs::path& keys = config.key_directory;
    const platform::FolderLock lock{keys, platform::FolderLock::Sharing::kShared};
    const std::string xml =
        document(version, config,
                 {present_key(database, keys), keys / "code_sign_private", signatures}, begins);
    return in_transaction(database, [&]() -> std::int64_t {
        const std::int64_t app = app_id(database, version);
        const auto existing = database.query_one(
            "select id, xml_doc from app_version where appid = ? and platformid = ? "
            "and version_num = ? and plan_class = ? for update",
            {app, platform, version.version, version.plan_class});
        if (existing && existing->text("xml_doc") == xml) {
            store_kernel(database, existing->integer("id"), version.kernel);
            return existing->integer("id");
        }
        if (existing) {
            throw InputError(fmt::format(
                "Version {} of {} is already published for {} with other files; give this one a "
                "higher number.",
                version.version, version.app, version.platform));
        }
        database.execute(
            "insert into app_version (create_time, appid, version_num, platformid, xml_doc, "
            "plan_class) values (?, ?, ?, ?, ?, ?)",
            {static_cast<std::int64_t>(unix_now()), app, version.version, platform, xml,
             version.plan_class});
        const std::int64_t id = database.insert_id();
        publish_bill(version, config);
        store_kernel(database, id, version.kernel);
        return id;
    });
}

std::vector<std::string> sign_files(const std::vector<AppFile>& files, const fs::path& private_key,
                                    const fs::path& folder) {
    check_files(files);
    const SigningKey key{private_key};
    fs::create_directories(folder);
    std::vector<std::string> names;
    for (const AppFile& file : files) {
        names.push_back(physical_name(file, md5_of_file(file.source)));
        platform::replace_file(folder / (names.back() + ".sig"), key.sign_file(file.source));
    }
    return names;
}

}  // namespace dedloc::server
