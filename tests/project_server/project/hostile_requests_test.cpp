// Requests that cost their sender little and the server much, with nginx in front and without it.
#include <httplib.h>
#include <sys/resource.h>
#include <zlib.h>

#include "project_server/transfer/upload_limits.hpp"
#include "tests/project_server/project/nginx_site.hpp"

namespace dedloc::project {
namespace {

/// `megabytes` of zeros, compressed by gzip to a thousandth.
std::string gzip_of_zeros(std::size_t megabytes) {
    std::string zeros(std::size_t{1} << 20, '\0');
    std::string compressed(megabytes * 2'048 + 1'024, '\0');
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, 0) == Z_OK);
    stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
    stream.avail_out = static_cast<uInt>(compressed.size());
    for (std::size_t i = 0; i < megabytes; ++i) {
        stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
        stream.avail_in = static_cast<uInt>(zeros.size());
        deflate(&stream, i + 1 == megabytes ? Z_FINISH : Z_NO_FLUSH);
    }
    compressed.resize(stream.total_out);
    deflateEnd(&stream);
    return compressed;
}

/// The most memory that this process, with dedloc-server's routes in it, has used so far.
long peak_megabytes() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss / 1'024;
}

/// The first line of the answer to a head, which has no body after it yet.
std::string answer_to_head(std::uint16_t port, const std::string& head) {
    const Connection connection{port};
    connection.send(head);
    return connection.receive_line();
}

}  // namespace

TEST_CASE("a compressed body is refused before it is read", "[server][boinc]") {
    const Site site;
    const std::string zeros = gzip_of_zeros(256);
    REQUIRE(zeros.size() < 1'000'000);
    for (const std::uint16_t port : {site.server_port(), site.port()}) {
        for (const std::string path : {"/nothing", "/cgi/scheduler", kUploads, "/account/create"}) {
            for (const char* coding : {"gzip", "deflate", "br", "identity"}) {
                INFO(port << path << coding);
                const long before = peak_megabytes();
                const std::string answer = answer_to_head(
                    port, "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Encoding: " + coding +
                              "\r\nContent-Length: 100000\r\n\r\n");
                CHECK_THAT(answer, Catch::StartsWith("HTTP/1.1 415"));
                httplib::Client client{"127.0.0.1", port};
                client.Post(path.c_str(), {{"Content-Encoding", coding}}, zeros, "text/xml");
                CHECK(peak_megabytes() - before < 64);
            }
        }
    }
}

TEST_CASE("a body has a length, and no more bytes than its path needs", "[server][boinc]") {
    const Site site;
    const auto head = [](const std::string& path, const std::string& header) {
        return "POST " + path + " HTTP/1.1\r\nHost: x\r\n" + header + "\r\n\r\n";
    };
    for (const std::uint16_t port : {site.server_port(), site.port()}) {
        INFO(port);
        const auto answer = [&](const std::string& path, const std::string& length) {
            return answer_to_head(port, head(path, "Content-Length: " + length)).substr(0, 12);
        };
        CHECK(answer("/nothing", "65537") == "HTTP/1.1 413");
        CHECK(answer("/create_account.php", "65537") == "HTTP/1.1 413");
        CHECK(answer("/cgi/scheduler", "8388609") == "HTTP/1.1 413");
        CHECK(answer(kUploads, std::to_string(server::kMaxUploadBytes + 1)) == "HTTP/1.1 413");
    }
    const std::uint16_t port = site.server_port();
    for (const char* header : {"Transfer-Encoding: chunked", "Accept: */*", "Content-Length: -1",
                               "Content-Length: ", "Content-Length: 5\r\nContent-Length: 6",
                               "Content-Length: 99999999999999999999"}) {
        INFO(header);
        CHECK_THAT(answer_to_head(port, head("/cgi/scheduler", header)),
                   Catch::StartsWith("HTTP/1.1 411"));
    }
    // Nothing of an unread body is taken for another request.
    const Connection connection{port};
    connection.send(head("/nothing", "Content-Length: 70000") +
                    "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string two = connection.receive();
    CHECK_THAT(two, Catch::StartsWith("HTTP/1.1 413"));
    CHECK_THAT(two, !Catch::Contains("HTTP/1.1 200"));
    CHECK_THAT(site.post("/cgi/scheduler", std::string(1'000'000, ' ')),
               Catch::StartsWith("HTTP/1.1 200"));
}

TEST_CASE("many ranges in a request multiply nothing", "[server][boinc]") {
    const Site site;
    const std::string file(10'000, 'f');
    platform::replace_file(site.config().download_directory / "file", file);
    std::string ranges = "Range: bytes=0-";
    for (int i = 0; i < 2'600; ++i) ranges += ",0-";
    for (const char* path : {"/", "/run.js", "/download/file"}) {
        INFO(path);
        const std::string once = site.get(path);
        CHECK_THAT(once, Catch::StartsWith("HTTP/1.1 200"));
        CHECK(site.get(path, ranges).size() < once.size() + 100);
        const Connection direct{site.server_port()};
        direct.send("GET " + std::string{path} + " HTTP/1.1\r\nHost: x\r\n" + ranges + "\r\n\r\n");
        CHECK_THAT(direct.receive_line(), Catch::StartsWith("HTTP/1.1 416"));
    }
    // A client goes on with a file that it has the beginning of.
    const std::string rest = site.get("/download/file", "Range: bytes=9990-");
    CHECK_THAT(rest, Catch::StartsWith("HTTP/1.1 206"));
    CHECK_THAT(rest, Catch::EndsWith("\r\n\r\nffffffffff"));
}

TEST_CASE("statistics come from the disk", "[server][boinc]") {
    const Site site;
    const auto folder = site.config().directory / "html/stats";
    std::filesystem::create_directories(folder);
    platform::replace_file(folder / "user.gz", "packed");
    platform::replace_file(folder / "tables.xml", "<tables/>");
    CHECK_THAT(site.get("/stats/user.gz"),
               Catch::Contains("application/gzip") && Catch::Contains("\r\n\r\npacked"));
    CHECK_THAT(site.get("/stats/tables.xml"), Catch::Contains("text/xml; charset=utf-8"));
    CHECK_THAT(site.get("/stats/team.gz"), Catch::StartsWith("HTTP/1.1 404"));
}

}  // namespace dedloc::project
