// Uploads of output files. A client names the file and shows a certificate that the project signed
// when it created the job; the bytes follow, from the offset at which an earlier attempt stopped.
// An incomplete file has another name, so that a validator never reads half a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "project_server/database/project_config.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/transfer/upload_space.hpp"

namespace dedloc::server {

/// The upload folder and the key of certificates. Shared by all requests.
class UploadStore {
  public:
    /// The account of a result; 0: there is no such result, or that is not known now.
    using AccountOf = std::function<std::int64_t(const std::string& result)>;

    /// Reads the public upload key unless config.xml says that certificates are ignored. `config`
    /// must outlive the store. `account_of`: nothing if accounts are not counted. `free`: nothing
    /// for what the disk of the upload folder has. Errors: IoError, InputError.
    explicit UploadStore(const ProjectConfig& config, AccountOf account_of = {},
                         UploadSpace::FreeBytes free = {});

    /// Path of a complete file, in the tree in which libsched's validators look. Creates its
    /// folder. Errors: IoError.
    std::filesystem::path path_of(const std::string& name) const;
    /// Number of bytes present, of the complete file or else of the incomplete one.
    std::uint64_t size_of(const std::string& name) const;
    /// Whether `signature` certifies that a file of this name and maximum size may be uploaded.
    bool accepts(const std::string& name, const std::string& max_bytes,
                 std::string_view signature) const;
    /// The account whose job's output file has this name; 0: not known.
    std::int64_t account_of(const std::string& name) const;
    /// The space that uploads share.
    UploadSpace& space() const { return *space_; }

  private:
    const ProjectConfig& config_;
    const AccountOf account_of_;
    const std::unique_ptr<UploadSpace> space_;
    const std::unique_ptr<const VerifyingKey> key_;
};

/// One request, fed as it arrives. Uses bounded memory.
class UploadRequest {
  public:
    /// `address`: the client's.
    UploadRequest(const UploadStore& store, std::string address);
    ~UploadRequest();
    UploadRequest(const UploadRequest&) = delete;
    UploadRequest& operator=(const UploadRequest&) = delete;

    /// Takes the next bytes. False once the reply is known and further bytes are ignored.
    bool feed(std::string_view bytes);
    /// The reply, after the last byte. Status 0: done; 1: retry later; -1: permanent failure.
    std::string finish();

  private:
    struct Transfer;
    void read_head();
    void begin_transfer();
    void write(std::string_view bytes);
    void complete();
    void answer(int status, std::string_view message);

    const UploadStore& store_;
    const std::string address_;
    std::string head_;  ///< the request up to <data>
    bool has_head_ = false;
    std::unique_ptr<Transfer> transfer_;
    std::string reply_;
};

}  // namespace dedloc::server
