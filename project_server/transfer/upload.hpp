// Output files on their way in. A client says what it sends and proves with a certificate, signed
// by the project when the job was made, that it may; the bytes follow, from where an earlier
// attempt stopped. What has not arrived whole lies beside under another name, so that a validator
// never reads half a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "project_server/database/project_config.hpp"
#include "project_server/publishing/keys.hpp"

namespace dedloc::server {

/// Where uploads go and whose certificates count. Shared by all requests.
class UploadStore {
  public:
    /// Reads the public upload key unless config.xml says that certificates are ignored. `config`
    /// must outlive the store.
    explicit UploadStore(const ProjectConfig& config);

    /// The place of a complete file, in the tree that libsched's validators look in.
    std::filesystem::path path_of(const std::string& name) const;
    /// Bytes here already, of the complete file or of the unfinished one.
    std::uint64_t size_of(const std::string& name) const;
    bool accepts(const std::string& name, const std::string& max_bytes,
                 std::string_view signature) const;

  private:
    const ProjectConfig& config_;
    const std::unique_ptr<const VerifyingKey> key_;
};

/// A name that a client may give a file: letters, digits, ".", "-", "_", "+", not starting with a
/// dot, at most 200.
bool is_file_name(std::string_view name);

/// One request, fed as it arrives. Memory is bounded, whatever comes.
class UploadRequest {
  public:
    explicit UploadRequest(const UploadStore& store);
    ~UploadRequest();
    UploadRequest(const UploadRequest&) = delete;
    UploadRequest& operator=(const UploadRequest&) = delete;

    /// False once the answer is certain and more bytes would be wasted.
    bool feed(std::string_view bytes);
    /// The reply, after the last byte. Status 0: done; 1: try again later; -1: never.
    std::string finish();

  private:
    struct Transfer;
    void read_head();
    void begin_transfer();
    void write(std::string_view bytes);
    void complete();
    void answer(int status, std::string_view message);

    const UploadStore& store_;
    std::string head_;  ///< what came before <data>
    bool has_head_ = false;
    std::unique_ptr<Transfer> transfer_;
    std::string reply_;
};

}  // namespace dedloc::server
