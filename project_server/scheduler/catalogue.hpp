// The app versions of a project, as the scheduler offers them to hosts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/publishing/code_sign_keys.hpp"
#include "project_server/publishing/kernel_version.hpp"

namespace dedloc::server {

/// A row of `app_version` with the names of its app and platform.
struct PublishedVersion {
    std::int64_t id = 0;                    ///< key of the row
    std::int64_t app_id = 0;                ///< key of the app
    std::string app;                        ///< the app's short name
    std::string friendly_name;              ///< the app's name for volunteers
    bool is_non_cpu_intensive = false;      ///< its jobs run beside all others
    bool has_exact_fraction = false;        ///< the app's progress is linear in time
    std::int64_t number = 0;                ///< 107 is 1.7
    std::string platform;                   ///< BOINC's name
    std::string plan_class;                 ///< BOINC plan class; empty: any processor
    std::int64_t min_client = 0;            ///< oldest client version, 72005 is 7.20.5; 0: any
    std::int64_t max_client = 0;            ///< newest; 0: any
    std::optional<KernelVersion> kernel{};  ///< oldest Linux of a host; nothing: any
    std::string document;                   ///< xml_doc: <file_info> elements, then <app_version>
    double slot_bytes = 0;  ///< size of the files that the client counts in the job's folder
};

/// All versions that may be sent: of known plan classes, not deprecated, newest first.
using Catalogue = std::vector<PublishedVersion>;

/// Reads the catalogue. Errors: DatabaseError.
Catalogue read_catalogue(Database& database);

/// The catalogue, and the key by which all of its versions are signed.
struct SignedCatalogue {
    Catalogue versions;  ///< all of one moment
    CodeSignKeys keys;   ///< the present key of that moment, and the ways to it
};

/// Keeps the catalogue for some seconds, because every request needs it and it rarely changes. A
/// new version is offered, and a new key used, at most kCatalogueSeconds after it was published.
/// Thread: any.
class CatalogueCache {
  public:
    /// Errors: IoError, InputError (there is no public key).
    explicit CatalogueCache(std::filesystem::path key_directory);

    /// The catalogue at `now`, Unix time in seconds. Errors: DatabaseError, IoError, InputError.
    std::shared_ptr<const SignedCatalogue> get(Database& database, std::int64_t now) const;

  private:
    const std::filesystem::path key_directory_;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const SignedCatalogue> catalogue_;
    mutable std::int64_t read_at_ = 0;
};

inline constexpr std::int64_t kCatalogueSeconds = 5;  ///< age at which the catalogue is read again

}  // namespace dedloc::server
