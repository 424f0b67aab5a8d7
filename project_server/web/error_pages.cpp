// Errors that no handler has given a body: unknown addresses, requests that cannot be read, and
// exceptions of handlers.
#include <httplib.h>

#include "peer/base/log.hpp"
#include "project_server/web/routes.hpp"

namespace dedloc::server {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* kRetryAfter = "60";  // seconds

const char* sentence_of(int status) {
    switch (status) {
        case 400:
            return "The server does not understand this request.";
        case 404:
            return "There is no such page.";
        case 413:
            return "This request is too large.";
        case 414:
            return "This address is too long.";
        case 416:
            return "The file has no such part.";
        case 503:
            return "The server cannot answer now. Try again in a minute.";
        default:
            return "The server does not answer this request.";
    }
}

void explain(Site& site, const Request& request, Response& response) {
    // Handlers that answer with an error of their own have written a body.
    if (!response.body.empty() || response.has_header("Content-Type")) return;
    try {
        site.refuse(request, response, response.status, sentence_of(response.status));
    } catch (const std::exception& error) {
        // An exception here would end the server's thread. The body stays empty.
        log_error("error page: {}", error.what());
    }
}

void report(Site& site, const Request& request, Response& response, std::exception_ptr failure) {
    response.status = 503;
    try {
        std::rethrow_exception(failure);
    } catch (const RefusedData& error) {
        log_error("{}: {}", request.path, error.what());
        return site.refuse(request, response, 400, error.answer());
    } catch (const DatabaseError& error) {
        log_error("{}: {}", request.path, error.what());
        site.refuse(request, response, 503,
                    "The project's database is not available now. Try again in a minute.");
    } catch (const std::exception& error) {
        log_error("{}: {}", request.path, error.what());
    }
    response.set_header("Retry-After", kRetryAfter);
}

}  // namespace

void add_error_pages(Site& site) {
    site.server.set_error_handler(
        [&site](const Request& request, Response& response) { explain(site, request, response); });
    site.server.set_exception_handler(
        [&site](const Request& request, Response& response, std::exception_ptr failure) {
            report(site, request, response, std::move(failure));
        });
}

}  // namespace dedloc::server
