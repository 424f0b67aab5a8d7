// feed() collects the head up to <data>. begin_transfer() checks name, certificate and size before
// it touches the disk; then it opens the incomplete file, locks it against a second request, cuts
// it to the client's offset and has the space for the rest promised. Bytes are written as they
// arrive. complete() compares the MD5, syncs and renames. The promise is given back before the
// descriptor, and with it the lock, is closed. Failures that may pass have status 1, so that
// clients go on from the bytes that have arrived.
#include "project_server/transfer/upload.hpp"

#include <config.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched_util_basic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "peer/base/log.hpp"
#include "peer/base/markup.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/posix_calls.hpp"
#include "project_server/xml/job_documents.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxHead = 16'384;  // bytes before <data>; clients send about 1,000
constexpr std::string_view kDataMark = "<data>\n";

fs::path unfinished(const fs::path& path) {
    return path.string() + ".unfinished";
}

/// Bytes as a client writes them: a real number. No more than a double counts one by one.
std::uint64_t byte_count(std::string_view body) {
    return static_cast<std::uint64_t>(std::clamp(real_value(body), 0.0, 0x1p53));
}

/// Free bytes of a folder's disk; all there can be if that is unknown: the first write tells why.
std::uint64_t free_at(const fs::path& folder) {
    std::error_code unknown;
    const fs::space_info space = fs::space(folder, unknown);
    return unknown ? std::numeric_limits<std::uint64_t>::max() : space.available;
}

}  // namespace

UploadStore::UploadStore(const ProjectConfig& config, AccountOf account_of,
                         UploadSpace::FreeBytes free)
    : config_(config),
      account_of_(std::move(account_of)),
      space_(std::make_unique<UploadSpace>(
          free ? std::move(free) : [folder = config.upload_directory] { return free_at(folder); },
          [this](const std::string& name) {
              try {
                  return size_of(name);
              } catch (const IoError&) {
                  return std::uint64_t{0};  // its folder is gone
              }
          })),
      key_(config.ignore_upload_certificates
               ? nullptr
               : std::make_unique<const VerifyingKey>(config.key_directory / "upload_public")) {}

fs::path UploadStore::path_of(const std::string& name) const {
    std::array<char, 4096> path{};
    const std::string root = config_.upload_directory.string();
    if (dir_hier_path(name.c_str(), root.c_str(), config_.directory_fanout, path.data(), true) !=
        0) {
        throw IoError(fmt::format("Cannot make a folder for {} in {}.", name, root));
    }
    return path.data();
}

std::uint64_t UploadStore::size_of(const std::string& name) const {
    const fs::path path = path_of(name);
    std::error_code absent;
    auto size = fs::file_size(path, absent);
    if (absent) size = fs::file_size(unfinished(path), absent);
    return absent ? 0 : size;
}

std::int64_t UploadStore::account_of(const std::string& name) const {
    return account_of_ ? account_of_(result_of_output(name)) : 0;
}

bool UploadStore::accepts(const std::string& name, const std::string& max_bytes,
                          std::string_view signature) const {
    if (!key_) return true;
    const std::string certified =
        fmt::format("<name>{}</name><max_nbytes>{:.0f}</max_nbytes>", name, real_value(max_bytes));
    return key_->verifies(certified, signature);
}

/// An upload under way: its incomplete file, and how much is missing.
struct UploadRequest::Transfer {
    std::string name;
    std::string md5;
    fs::path path;
    std::uint64_t total = 0;
    std::uint64_t offset = 0;  ///< position of the next byte
    platform::Descriptor file;
    /// The space for what is missing. Given back before the file, while no other request can have
    /// it.
    std::unique_ptr<UploadSpace::Promise> promise;
};

UploadRequest::UploadRequest(const UploadStore& store, std::string address)
    : store_(store), address_(std::move(address)) {}
UploadRequest::~UploadRequest() = default;

void UploadRequest::answer(int status, std::string_view message) {
    // The client reports any <message>, even an empty one, as an error of the server.
    const std::string element =
        message.empty() ? "" : fmt::format("    <message>{}</message>\n", escape_markup(message));
    reply_ = fmt::format("<data_server_reply>\n    <status>{}</status>\n{}</data_server_reply>\n",
                         status, element);
    if (status != 0) {
        log_warning("upload{}: {}", transfer_ ? " of " + transfer_->name : std::string{}, message);
    }
}

bool UploadRequest::feed(std::string_view bytes) {
    if (!reply_.empty()) return false;
    try {
        if (has_head_) {
            write(bytes);
            return reply_.empty();
        }
        head_ += bytes.substr(0, kMaxHead + kDataMark.size());
        const auto mark = head_.find(kDataMark);
        if (mark == std::string::npos) {
            if (head_.size() > kMaxHead) answer(-1, "the request has no data");
            return reply_.empty();
        }
        const std::size_t from_these = head_.size() - (mark + kDataMark.size());
        const std::size_t kept = std::min(bytes.size(), kMaxHead + kDataMark.size());
        const std::string_view data = bytes.substr(kept - from_these);
        head_.resize(mark);
        has_head_ = true;
        begin_transfer();
        if (reply_.empty()) write(data);
    } catch (const IoError& error) {
        answer(1, error.what());
    }
    return reply_.empty();
}

void UploadRequest::begin_transfer() {
    const auto start = head_.find("<file_upload>");
    XmlReader reader{start == std::string::npos ? std::string_view{}
                                                : std::string_view{head_}.substr(start + 13)};
    auto transfer = std::make_unique<Transfer>();
    std::string max_bytes;
    std::string signature;
    // Two sizes and a file; what is damaged comes whole with the next attempt.
    int parts = 0;
    while (const auto element = reader.next()) {
        if (element->name == "nbytes") {
            parts += real_number(element->body).has_value();
            transfer->total = byte_count(element->body);
        } else if (element->name == "offset") {
            parts += real_number(element->body).has_value();
            transfer->offset = byte_count(element->body);
        } else if (element->name == "md5_cksum") {
            transfer->md5 = text_value(element->body, 64);
        } else if (element->name == "file_info") {
            const auto value = [&](std::string_view name) {
                const auto found = find_element(element->body, name);
                return found ? text_value(found->body, 4096) : std::string{};
            };
            XmlReader fields{element->body};
            while (fields.next()) continue;
            parts += fields.lost().empty();
            transfer->name = value("name");
            max_bytes = value("max_nbytes");
            signature = value("xml_signature");
        }
    }
    if (start == std::string::npos) return answer(1, "no command");
    if (parts < 3) return answer(1, "the request is damaged");
    if (!is_file_name(transfer->name)) return answer(-1, "invalid file name");
    if (!store_.accepts(transfer->name, max_bytes, signature)) {
        return answer(-1, "invalid signature");
    }
    if (static_cast<double>(transfer->total) > real_value(max_bytes)) {
        return answer(-1, fmt::format("file size {} is over the limit of {} bytes", transfer->total,
                                      max_bytes));
    }
    transfer->path = store_.path_of(transfer->name);
    transfer->file =
        platform::try_open(unfinished(transfer->path), O_RDWR | O_CREAT, platform::kPublicFile);
    transfer_ = std::move(transfer);
    if (!transfer_->file) {
        return answer(1, fmt::format("cannot open the file: {}", std::strerror(errno)));
    }
    if (flock(transfer_->file.id(), LOCK_EX | LOCK_NB) != 0) {
        return answer(1, "another upload of this file is in progress");
    }
    struct stat status {};
    if (fstat(transfer_->file.id(), &status) != 0 ||
        static_cast<std::uint64_t>(status.st_size) < transfer_->offset) {
        return answer(1, fmt::format("offset {} is beyond the {} bytes received so far",
                                     transfer_->offset, status.st_size));
    }
    if (ftruncate(transfer_->file.id(), static_cast<off_t>(transfer_->offset)) != 0) {
        return answer(1, fmt::format("cannot resume the file: {}", std::strerror(errno)));
    }
    auto [promise, refusal] = store_.space().promise({.address = address_,
                                                      .account = store_.account_of(transfer_->name),
                                                      .name = transfer_->name,
                                                      .total = transfer_->total,
                                                      .present = transfer_->offset});
    if (!promise) return answer(1, refusal);
    transfer_->promise = std::move(promise);
}

void UploadRequest::write(std::string_view bytes) {
    const std::uint64_t missing = transfer_->total - std::min(transfer_->total, transfer_->offset);
    if (bytes.size() > missing) return answer(-1, "more bytes than announced");
    while (!bytes.empty()) {
        const ssize_t written = pwrite(transfer_->file.id(), bytes.data(), bytes.size(),
                                       static_cast<off_t>(transfer_->offset));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            return answer(1, fmt::format("cannot write the file: {}", std::strerror(errno)));
        }
        transfer_->offset += static_cast<std::uint64_t>(written);
        transfer_->promise->fill(static_cast<std::uint64_t>(written));
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void UploadRequest::complete() {
    if (transfer_->offset < transfer_->total) {
        return answer(
            1, fmt::format("{} of {} bytes have arrived", transfer_->offset, transfer_->total));
    }
    const fs::path part = unfinished(transfer_->path);
    if (!transfer_->md5.empty() && md5_of_file(part) != transfer_->md5) {
        // Parts of two different files, or corruption on the way: start over.
        std::error_code ignored;
        fs::remove(part, ignored);
        return answer(1, "the checksum is wrong");
    }
    if (fsync(transfer_->file.id()) != 0) {
        return answer(1, fmt::format("cannot store the file: {}", std::strerror(errno)));
    }
    platform::move_file(part, transfer_->path);
    log_info("upload of {}: {} bytes", transfer_->name, transfer_->total);
    answer(0, "");
}

std::string UploadRequest::finish() {
    try {
        if (reply_.empty() && has_head_) complete();
        if (reply_.empty()) read_head();
    } catch (const Error& error) {
        answer(1, error.what());
    }
    transfer_.reset();
    return reply_;
}

/// Answers a request without data, which asks how many bytes of a file are present.
void UploadRequest::read_head() {
    const auto start = head_.find("<get_file_size>");
    const auto asked = start == std::string::npos
                           ? std::nullopt
                           : find_element(std::string_view{head_}.substr(start), "get_file_size");
    if (!asked) return answer(1, "no command");
    const std::string name = text_value(asked->body);
    if (!is_file_name(name)) return answer(-1, "invalid file name");
    reply_ = fmt::format(
        "<data_server_reply>\n    <status>0</status>\n    <file_size>{}</file_size>\n"
        "</data_server_reply>\n",
        store_.size_of(name));
}

}  // namespace dedloc::server
