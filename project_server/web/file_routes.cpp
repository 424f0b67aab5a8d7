// Files are sent piece by piece, so a download takes little memory. The pattern of a route and
// is_file_name() keep a path inside its folder. An upload takes a slot of its address first and is
// refused with status 503 without one; its bytes go to UploadRequest as they arrive. A client reads
// the reply only after it has sent everything, so the bytes of a refused upload are still read, up
// to kMaxIgnored. UploadPace cuts slow ones.
#include <httplib.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "project_server/http/address_slots.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/transfer/upload_limits.hpp"
#include "project_server/url.hpp"
#include "project_server/web/join_files.hpp"
#include "project_server/web/routes.hpp"
#include "project_server/web/templates.hpp"
#include "project_server/xml/job_documents.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;
using httplib::Request;
using httplib::Response;

constexpr std::size_t kDownloadPiece = 256 * 1024;  // bytes read at once
constexpr std::size_t kMaxIgnored = 16 << 20;       // bytes of a refused upload that are read
constexpr const char* kCss = "text/css; charset=utf-8";
constexpr const char* kIcon = "image/svg+xml";
constexpr const char* kScript = "text/javascript; charset=utf-8";

void send_file(const fs::path& path, Response& response,
               const char* type = "application/octet-stream") {
    std::error_code absent;
    const auto size = fs::file_size(path, absent);
    auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
    if (absent || !fs::is_regular_file(path) || !*file) {
        response.status = 404;
        return;
    }
    response.set_content_provider(
        size, type, [file](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
            std::vector<char> piece(std::min(length, kDownloadPiece));
            file->clear();
            file->seekg(static_cast<std::streamoff>(offset));
            file->read(piece.data(), static_cast<std::streamsize>(piece.size()));
            const auto count = static_cast<std::size_t>(file->gcount());
            return count > 0 && (sink.write(piece.data(), count), true);
        });
}

/// Files of Debian's packages, which nginx serves instead where it is in front.
void add_library(Site& site, const std::string& path, const char* file, const char* type) {
    site.get(path, [file, type](const Request&, Response& response) {
        response.set_header("Cache-Control", "public, max-age=86400");
        send_file(file, response, type);
    });
}

/// The style, the scripts and the icon of pages/, compiled in.
void add_page_files(Site& site) {
    for (const PageFile& file : page_files()) {
        const char* const type = file.name.ends_with(".css")   ? kCss
                                 : file.name.ends_with(".js")  ? kScript
                                 : file.name.ends_with(".svg") ? kIcon
                                                               : nullptr;
        if (type == nullptr) continue;
        site.get('/' + std::string{file.name}, [file, type](const Request&, Response& response) {
            response.set_header("Cache-Control", "public, max-age=300");
            response.set_content(std::string{file.text}, type);
        });
    }
}

/// The script and the notebook by which a computer joins.
void add_join_files(Site& site) {
    struct JoinFile {
        const char* name;
        const char* type;
    };
    for (const JoinFile& file : {JoinFile{"join.sh", "text/plain; charset=utf-8"},
                                 JoinFile{"join.ipynb", "application/x-ipynb+json"}}) {
        site.get(std::string{"/"} + file.name,
                 [&site, file](const Request& request, Response& response) {
                     const auto text = join_file(file.name, site.config.master_url);
                     if (!text) {
                         return site.refuse(request, response, 404,
                                            "This project's address cannot stand in a script.");
                     }
                     response.set_header("Cache-Control", "public, max-age=300");
                     response.set_header("Content-Disposition",
                                         std::string{"inline; filename="} + file.name);
                     response.set_content(*text, file.type);
                 });
    }
}

/// Takes a file from a client. An upload that is too slow, or that sends much after the reply is
/// known, is cut.
void receive_upload(const UploadStore& uploads, const Request& request, Response& response,
                    const httplib::ContentReader& read) {
    UploadRequest upload{uploads, address_of(request)};
    UploadPace pace{UploadPace::Clock::now()};
    std::size_t ignored = 0;
    read([&](const char* data, std::size_t size) {
        // Bytes are read even if the reply is known: the client reads it only after sending.
        if (!upload.feed({data, size})) ignored += size;
        return ignored <= kMaxIgnored && pace.take(size, UploadPace::Clock::now());
    });
    response.set_content(upload.finish(), "text/xml");
}

void add_transfers(Site& site, const UploadStore& uploads) {
    site.server.Post(
        literal(required_url(site.config.upload_url, "<upload_url>").folder()),
        [&uploads, slots = std::make_shared<AddressSlots>(kMaxUploads, kMaxUploadsOfAddress)](
            const Request& request, Response& response, const httplib::ContentReader& read) {
            const auto slot = slots->take(address_of(request));
            if (!slot) {
                response.status = 503;
                response.set_header("Retry-After", "60");
                return;
            }
            receive_upload(uploads, request, response, read);
        });
    site.server.Get(literal(required_url(site.config.download_url, "<download_url>").folder()) +
                        R"(/((?:[0-9a-f]{1,3}/)?[^/]+))",
                    [&site](const Request& request, Response& response) {
                        const fs::path path = std::string{request.matches[1]};
                        if (!is_file_name(path.filename().string())) {
                            response.status = 404;
                            return;
                        }
                        send_file(site.config.download_directory / path, response);
                    });
}

/// The statistics that main.cpp writes every hour.
void add_statistics(Site& site) {
    site.server.Get(
        literal(site.prefix) +
            R"(/stats/((?:user|team|host|user_deleted|host_deleted|badge_user|badge_team)\.gz|)"
            R"((?:tables|db_dump)\.xml))",
        [&site](const Request& request, Response& response) {
            const std::string name = request.matches[1];
            send_file(site.config.directory / "html/stats" / name, response,
                      name.ends_with(".xml") ? "text/xml; charset=utf-8" : "application/gzip");
        });
}

}  // namespace

void add_file_routes(Site& site, const UploadStore& uploads) {
    add_page_files(site);
    add_join_files(site);
    add_library(site, "/bootstrap/bootstrap.min.css",
                "/usr/share/bootstrap-html/css/bootstrap.min.css", kCss);
    add_library(site, "/chart.js/chart.min.js", "/usr/share/javascript/chart.js/chart.min.js",
                kScript);
    add_statistics(site);
    add_transfers(site, uploads);
}

}  // namespace dedloc::server
