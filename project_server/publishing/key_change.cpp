// A change goes through these states; each step between two of them is one rename or one
// transaction:
//
//   1. nothing          keys/next is absent, or an unfinished folder that nothing reads
//   2. prepared         keys/next is complete: new public key, its signature by the present key,
//                       and the new private key or the signatures of all files by it
//   3. known            keys/old_key_N and signature_N lead from the present key to the new one;
//                       the scheduler ignores it while the new key is not the present one
//   4. changed          the transaction is committed: versions and present key are new
//   5. nothing          keys/ has the new pair, keys/next is gone
#include "project_server/publishing/key_change.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/folder_lock.hpp"
#include "project_server/publishing/code_sign_keys.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/publishing/signatures.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrivateName = "code_sign_private";
constexpr std::size_t kMaxSmallFile = 8'192;  // bytes of a key or signature
constexpr std::size_t kMaxValue = 4'096;      // bytes of a name or signature in a document

/// The versions that may be sent; dedloc-purge deletes the files of the others.
const std::string kSignedVersions =
    "select id, xml_doc from app_version where id not in (select id from dedloc_unused_version "
    "where is_final = 1)";

/// Calls `use` with the name and the signature element of each file that a version's document
/// describes with a signature.
template <class Use>
void for_each_signature(std::string_view document, const Use& use) {
    XmlReader reader{document};
    while (const auto info = reader.next()) {
        if (info->name != "file_info") continue;
        const auto name = find_element(info->body, "name");
        const auto signature = find_element(info->body, "file_signature");
        if (name && signature) use(text_value(name->body, kMaxValue), *signature);
    }
}

/// The document with other signatures: those of `signatures`, by the files' names.
std::string resigned(const std::string& document,
                     const std::map<std::string, std::string>& signatures) {
    std::string text;
    const char* copied = document.data();
    for_each_signature(document, [&](const std::string& name, const XmlElement& old) {
        const auto found = signatures.find(name);
        if (found == signatures.end()) {
            throw InputError(fmt::format(
                "a version with the file {} was published meanwhile: repeat the command", name));
        }
        text.append(copied, old.body.data());
        text += '\n' + found->second + "    ";
        copied = old.body.data() + old.body.size();
    });
    return text.append(copied, document.data() + document.size());
}

/// A change under way.
class Change {
  public:
    Change(Database& database, const ProjectConfig& config,
           const std::function<void(const std::string&)>& begins)
        : database_(database),
          config_(config),
          begins_(begins),
          lock_(keys_),
          present_(present_key(database, keys_)) {
        fs::remove_all(unfinished_);
        fs::remove_all(retired_);
    }

    KeyChange run(const fs::path& answer) {
        KeyChange result{.was_interrupted = fs::exists(next_)};
        const bool is_changed =
            result.was_interrupted && read_public_key_text(next_ / kNewKeyName) == present_;
        if (!is_changed && !answer.empty()) {
            take(answer);
        } else if (!result.was_interrupted) {
            make();
        }
        result.has_private_key = fs::exists(next_ / kPrivateName);
        if (!is_changed) sign(result);
        move_in(result.has_private_key);
        return result;
    }

  private:
    /// State 2 with a pair that is made here.
    void make() {
        begins_("making the new pair of keys");
        const fs::path former = keys_ / kPrivateName;
        if (!fs::exists(former)) {
            throw InputError(
                fmt::format("{} is not here: write what must be signed with --request FILE, sign "
                            "it with dedloc app endorse where the key is, and name the folder that "
                            "it writes with --signatures",
                            former.string()));
        }
        const SigningKey secret{former};
        if (!VerifyingKey{present_, "the project's key"}.is_half_of(secret)) {
            throw InputError(
                fmt::format("{} is not the private half of the project's key", former.string()));
        }
        fs::create_directory(unfinished_);
        fs::permissions(unfinished_, fs::perms::owner_all);
        make_key_pair(unfinished_, "code_sign");
        for (const char* const name : {kNewKeyName, kPrivateName}) {
            platform::sync_file(unfinished_ / name);
        }
        platform::replace_file(unfinished_ / kNewKeySignatureName,
                               secret.sign_text(read_public_key_text(unfinished_ / kNewKeyName)));
        platform::move_file(unfinished_, next_);
    }

    /// State 2 with what another machine has signed; it replaces another unfinished change.
    void take(const fs::path& answer) {
        begins_("reading the signatures");
        fs::create_directory(unfinished_);
        const auto copy = [&](const std::string& name) {
            platform::replace_file(unfinished_ / name,
                                   platform::read_text(answer / name, kMaxSmallFile));
        };
        copy(kNewKeyName);
        for (const auto& entry : fs::directory_iterator{answer}) {
            if (entry.path().extension() == ".sig") copy(entry.path().filename().string());
        }
        retire();
        platform::move_file(unfinished_, next_);
    }

    /// States 3 and 4.
    void sign(KeyChange& result) {
        const std::string target = read_public_key_text(next_ / kNewKeyName);
        const std::string signature =
            platform::read_text(next_ / kNewKeySignatureName, kMaxSmallFile);
        const VerifyingKey former{present_, "the project's key"};
        if (target == present_ || !former.verifies(target, signature)) {
            throw InputError(
                fmt::format("{} is not the signature of a new key by the project's present key",
                            (next_ / kNewKeySignatureName).string()));
        }
        const Signatures source{target, next_ / kPrivateName,
                                result.has_private_key ? fs::path{} : next_};
        std::map<std::string, std::string> signatures;
        for (const SignedFile& file : signing_request(database_, config_).files) {
            begins_(fmt::format("signing {}", file.name));
            signatures[file.name] = source.of(file.md5, file.name);
        }
        result.files = signatures.size();
        begins_("writing the change for clients with the present key");
        add_key_change(keys_, present_, target, signature);
        begins_("changing the key and all signatures");
        database_.execute(
            "insert into dedloc_code_sign_key values (1, ?) on duplicate key update id = id",
            {present_});
        in_transaction(database_, [&] {
            result.versions = 0;
            for (const Row& row : database_.query(kSignedVersions + " for update")) {
                database_.execute("update app_version set xml_doc = ? where id = ?",
                                  {resigned(row.text("xml_doc"), signatures), row.integer("id")});
                ++result.versions;
            }
            database_.execute("update dedloc_code_sign_key set public_key = ?", {target});
        });
    }

    /// State 5. The files are copied, so that keys/next is whole until all are in place.
    void move_in(bool has_private_key) {
        begins_("putting the new keys in place");
        const fs::path secret = keys_ / kPrivateName;
        if (has_private_key) {
            platform::replace_file(secret, platform::read_text(next_ / kPrivateName, kMaxSmallFile),
                                   platform::kSecretFile);
        } else if (fs::remove(secret)) {
            platform::sync_folder_of(secret);
        }
        platform::replace_file(keys_ / kNewKeyName,
                               platform::read_text(next_ / kNewKeyName, kMaxSmallFile));
        begins_("removing what the change has needed");
        retire();
    }

    /// Removes keys/next; it is whole or gone.
    void retire() {
        if (!fs::exists(next_)) return;
        platform::move_file(next_, retired_);
        fs::remove_all(retired_);
    }

    Database& database_;
    const ProjectConfig& config_;
    const std::function<void(const std::string&)>& begins_;
    const fs::path keys_ = config_.key_directory;
    const fs::path next_ = keys_ / kNextKeys;
    const fs::path unfinished_ = keys_ / "next.unfinished";
    const fs::path retired_ = keys_ / "former.unfinished";
    const platform::FolderLock lock_;
    const std::string present_;
};

}  // namespace

SigningRequest signing_request(Database& database, const ProjectConfig& config) {
    SigningRequest request{.present_key = present_key(database, config.key_directory)};
    const VerifyingKey present{request.present_key, "the project's key"};
    std::map<std::string, SignedFile> files;
    for (const Row& row : database.query(kSignedVersions)) {
        for_each_signature(row.text("xml_doc"), [&](std::string name, const XmlElement& element) {
            files[name] = {.name = name, .signature = clean_text(element.body, kMaxValue)};
        });
    }
    for (auto& [name, file] : files) {
        const fs::path path = config.download_directory / name;
        if (!fs::exists(path)) {
            throw InputError(fmt::format(
                "{} is absent and cannot be signed: put it back from a backup", path.string()));
        }
        file.md5 = md5_of_file(path);
        if (!present.verifies_md5(file.md5, file.signature + '\n')) {
            throw InputError(fmt::format(
                "{} is not the file that the present key has signed: put it back from a backup",
                path.string()));
        }
        request.files.push_back(std::move(file));
    }
    return request;
}

KeyChange change_key(Database& database, const ProjectConfig& config, const fs::path& answer,
                     const std::function<void(const std::string&)>& begins) {
    return Change{database, config, begins}.run(answer);
}

}  // namespace dedloc::server
