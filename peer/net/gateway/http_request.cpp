// A curl easy handle is reset and configured for each request; it keeps its connection. libcurl's
// progress callback polls `is_unwanted`. The write callback refuses data beyond max_bytes, which
// makes the request fail. HTTP errors are answers, not failures.
#include "peer/net/gateway/http_request.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

#include "peer/base/error.hpp"

namespace dedloc::net {
namespace {

constexpr long kConnectMilliseconds = 10'000;
constexpr long kRequestMilliseconds = 30'000;  // the gateway dials us back before it answers

struct CurlLibrary {
    CurlLibrary() { curl_global_init(CURL_GLOBAL_DEFAULT); }
};

struct Free {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Body {
    std::string text;
    const std::size_t max_bytes;
};

std::size_t collect(char* data, std::size_t size, std::size_t count, void* into) {
    auto& body = *static_cast<Body*>(into);
    if (size * count > body.max_bytes - body.text.size()) return 0;
    body.text.append(data, size * count);
    return size * count;
}

int should_abort(void* is_unwanted, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return (*static_cast<const std::function<bool()>*>(is_unwanted))() ? 1 : 0;
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
    if (curl_easy_setopt(handle, option, value) != CURLE_OK) {
        throw IoError("libcurl refuses an option");
    }
}

void set_up(CURL* handle, const HttpRequest& request) {
    set(handle, CURLOPT_URL, request.url.c_str());
    set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    // HTTP/2 has no advantage for single requests, and its windows slow long bodies down.
    set(handle, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    set(handle, CURLOPT_USERAGENT, "dedloc");
    set(handle, CURLOPT_NOSIGNAL, 1L);
    set(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectMilliseconds);
    set(handle, CURLOPT_TIMEOUT_MS, kRequestMilliseconds);
    if (!request.proxy.empty()) set(handle, CURLOPT_PROXY, request.proxy.c_str());
    if (!request.certificates.empty()) set(handle, CURLOPT_CAINFO, request.certificates.c_str());
    if (request.body.empty()) return;
    set(handle, CURLOPT_POSTFIELDS, request.body.c_str());
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
}

/// Disables "Expect: 100-continue", which would delay a long body.
std::unique_ptr<curl_slist, Free> headers_of(const HttpRequest& request) {
    const std::string type = "Content-Type: " + request.content_type;
    std::unique_ptr<curl_slist, Free> headers{curl_slist_append(nullptr, type.c_str())};
    if (!headers || curl_slist_append(headers.get(), "Expect:") == nullptr) {
        throw IoError("libcurl cannot start");
    }
    return headers;
}

std::chrono::duration<double> time_of(CURL* handle, CURLINFO what) {
    curl_off_t microseconds = 0;
    curl_easy_getinfo(handle, what, &microseconds);
    return std::chrono::microseconds{microseconds};
}

}  // namespace

struct HttpClient::Handle {
    const std::unique_ptr<CURL, Free> curl;
};

HttpClient::HttpClient() {
    static const CurlLibrary library;
    handle_ = std::unique_ptr<Handle>{new Handle{std::unique_ptr<CURL, Free>{curl_easy_init()}}};
    if (!handle_->curl) throw IoError("libcurl cannot start");
}

HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::ask(const HttpRequest& request, const std::function<bool()>& is_unwanted) {
    CURL* const handle = handle_->curl.get();
    curl_easy_reset(handle);  // keeps the connection
    set_up(handle, request);
    const auto headers = headers_of(request);
    if (!request.body.empty()) set(handle, CURLOPT_HTTPHEADER, headers.get());
    Body body{.text = {}, .max_bytes = request.max_bytes};
    set(handle, CURLOPT_WRITEFUNCTION, &collect);
    set(handle, CURLOPT_WRITEDATA, &body);
    set(handle, CURLOPT_XFERINFOFUNCTION, &should_abort);
    set(handle, CURLOPT_XFERINFODATA, &is_unwanted);
    set(handle, CURLOPT_NOPROGRESS, 0L);
    set(handle, CURLOPT_IPRESOLVE, long{CURL_IPRESOLVE_V4});
    CURLcode code = curl_easy_perform(handle);
    if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT) {
        set(handle, CURLOPT_IPRESOLVE, long{CURL_IPRESOLVE_WHATEVER});
        code = curl_easy_perform(handle);
    }
    if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT) {
        throw InputError(fmt::format("{} is no http or https URL", request.url));
    }
    HttpAnswer answer;
    if (code != CURLE_OK) {
        answer.failure = curl_easy_strerror(code);
        return answer;
    }
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.status);
    answer.body = std::move(body.text);
    answer.took =
        time_of(handle, CURLINFO_TOTAL_TIME_T) - time_of(handle, CURLINFO_PRETRANSFER_TIME_T);
    return answer;
}

HttpAnswer ask(const HttpRequest& request, const std::function<bool()>& is_unwanted) {
    return HttpClient{}.ask(request, is_unwanted);
}

}  // namespace dedloc::net
