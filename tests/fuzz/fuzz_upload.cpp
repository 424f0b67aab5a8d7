// Uploads of BOINC clients: a byte of choices, then requests that follow each other, with
// kBetweenParts between them. Each arrives in pieces, and its reply and what it leaves on disk are
// checked. In a request, "SIGNED" stands for the project's certificate of file f, 1000 bytes.
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/log.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/transfer/upload.hpp"
#include "project_server/xml/job_documents.hpp"
#include "project_server/xml/xml.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBetweenParts = "\n%%\n";
constexpr std::string_view kSigned = "SIGNED";

/// Where uploads go, with and without certificates; emptied before each input.
class Store {
  public:
    Store() : config_(config_in(folder_.path())), checking_(config_), trusting_(trusting(config_)) {
        const server::SigningKey key(folder_.path() / "upload_private");
        certificate_ = key.sign_text("<name>f</name><max_nbytes>1000</max_nbytes>");
    }
    void clear() const {
        fs::remove_all(config_.upload_directory);
        fs::create_directory(config_.upload_directory);
    }
    const server::UploadStore& store(bool checks_certificates) const {
        return checks_certificates ? checking_ : trusting_;
    }
    std::string with_certificate(std::string_view request) const {
        std::string text{request};
        const auto mark = text.find(kSigned);
        if (mark != std::string::npos) text.replace(mark, kSigned.size(), certificate_);
        return text;
    }
    /// All files are uploads, by their names, and no larger together than what has arrived.
    void check(std::size_t arrived) const {
        std::uintmax_t bytes = 0;
        for (const auto& entry : fs::recursive_directory_iterator(config_.upload_directory)) {
            DEDLOC_CHECK(server::is_file_name(entry.path().filename().string()), "a safe name",
                         entry.path().string());
            if (entry.is_regular_file()) bytes += entry.file_size();
        }
        DEDLOC_CHECK(bytes <= arrived, "nothing is kept that has not arrived", bytes, arrived);
        std::size_t others = 0;
        for (const auto& entry : fs::directory_iterator(folder_.path())) {
            others += entry.path() == config_.upload_directory ? 0 : 1;
        }
        DEDLOC_CHECK(others == 2, "nothing is written beside the two keys", others);
    }

  private:
    static server::ProjectConfig config_in(const fs::path& folder) {
        server::make_key_pair(folder, "upload");
        server::ProjectConfig config;
        config.upload_directory = folder / "upload";
        config.key_directory = folder;
        config.directory_fanout = 4;
        return config;
    }
    static server::UploadStore trusting(server::ProjectConfig& config) {
        config.ignore_upload_certificates = true;
        return server::UploadStore(config);
    }

    const TemporaryDirectory folder_;
    server::ProjectConfig config_;
    const server::UploadStore checking_;
    const server::UploadStore trusting_;
    std::string certificate_;
};

void send(const server::UploadStore& store, std::string_view text, std::size_t piece) {
    server::UploadRequest upload(store, "192.0.2.1");
    bool goes_on = true;
    for (std::size_t at = 0; at < text.size(); at += piece) {
        const bool is_wanted = upload.feed(text.substr(at, piece));
        DEDLOC_CHECK(goes_on || !is_wanted, "an answer stays certain");
        goes_on = is_wanted;
    }
    const std::string reply = upload.finish();
    const auto root = server::find_element(reply, "data_server_reply");
    DEDLOC_CHECK(root.has_value(), "every upload is answered", reply);
    const auto status = server::find_element(root->body, "status");
    DEDLOC_CHECK(status && (status->body == "0" || status->body == "1" || status->body == "-1"),
                 "an answer has a status", reply);
    DEDLOC_CHECK(goes_on || status->body != "0", "only a whole upload is done", reply);
}

}  // namespace

void fuzz_upload(std::span<const std::byte> input) {
    static const Store store = [] {
        start_log("fuzz_upload", LogLevel::kError);  // every refusal is a warning
        return Store{};
    }();
    if (input.empty()) return;
    const auto choices = std::to_integer<unsigned>(input[0]);
    const std::size_t piece = std::size_t{1} << (choices / 2 % 16);
    std::string_view rest{reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1};
    store.clear();
    std::size_t arrived = 0;
    while (!rest.empty()) {
        const std::size_t end = rest.find(kBetweenParts);
        const std::string request = store.with_certificate(rest.substr(0, end));
        send(store.store(choices % 2 == 1), request, piece);
        arrived += request.size();
        store.check(arrived);
        rest.remove_prefix(end == std::string_view::npos ? rest.size()
                                                         : end + kBetweenParts.size());
    }
}

}  // namespace dedloc::fuzz
