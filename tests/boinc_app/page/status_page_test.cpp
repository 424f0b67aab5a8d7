// The page that a volunteer opens: its text, its server on loopback, and what it remembers.
#include "boinc_app/page/status_page.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace dedloc::page {
namespace {

using namespace std::chrono_literals;
using Stream = boost::asio::ip::tcp::iostream;

PeerKey key_of(unsigned i) {
    PeerKey key;
    key.bytes[0] = std::byte(i >> 8);
    key.bytes[1] = std::byte(i & 0xff);
    return key;
}

/// A round that creates state `step`: member i has i + 1 samples of this loss.
CommitRecord round_of(std::uint64_t step, unsigned members, double loss) {
    CommitRecord record;
    record.step = StepIndex{step - 1};
    for (unsigned i = 0; i < members; ++i) {
        record.members.push_back({key_of(i), Samples{i + 1}, loss * (i + 1)});
    }
    return record;
}

Picture some_picture() {
    Picture picture;
    picture.run = "tiny";
    picture.steps = 40;
    picture.device = "4 CPUs";
    picture.doing = "Training: <b>samples</b> & \"more\".";
    return picture;
}

std::string port_of(const StatusPage& page) {
    const std::string url = page.url();
    return url.substr(url.rfind(':') + 1, url.size() - url.rfind(':') - 2);
}

/// The whole answer to a request that is sent as it stands.
std::string answer_to(const StatusPage& page, const std::string& request) {
    Stream stream("127.0.0.1", port_of(page));
    stream.expires_after(20s);
    stream << request << std::flush;
    std::ostringstream answer;
    answer << stream.rdbuf();
    return answer.str();
}

std::string get(const StatusPage& page, const std::string& target, const std::string& host) {
    return answer_to(page, fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", target, host));
}

TEST_CASE("a history is bounded, keeps the newest rounds whole, and goes back with the swarm") {
    History history;
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t step = 1; step <= 5'000; ++step) {
        history.add(round_of(step, 3, 2), Codec::kFp32, key_of(1),
                    begin + std::chrono::seconds{step});
    }
    REQUIRE(history.rounds().size() <= History::kMaxRounds);
    CHECK(history.rounds().size() >= History::kMaxRounds / 2);
    CHECK(history.rounds().front().step == 1);
    CHECK(history.rounds().back().step == 5'000);
    const auto& rounds = history.rounds();
    for (std::size_t i = rounds.size() - 200; i < rounds.size(); ++i) {
        CHECK(rounds[i].step == rounds[i - 1].step + 1);
    }
    CHECK(rounds.back().samples == 6);
    CHECK(rounds.back().ours == 2);
    CHECK(rounds.back().loss == 2);
    CHECK(history.samples_per_second() == 6);

    history.add(round_of(4'990, 3, 2), Codec::kFp32, key_of(1), begin + 6'000s);
    CHECK(history.rounds().back().step == 4'990);
    CHECK(rounds[rounds.size() - 2].step == 4'989);
}

TEST_CASE("a history lists at most a hundred members, those with most samples and this peer") {
    History history;
    history.add(round_of(1, 1'000, 1), Codec::kFp32, key_of(0), {});
    REQUIRE(history.members().size() == History::kMaxMembers);
    CHECK(history.members().front().samples == 1'000);
    CHECK(history.members().back().is_us);
    CHECK(history.rounds().back().members == 1'000);
}

TEST_CASE("a history keeps the newest events, and cuts long lines") {
    History history;
    for (int i = 0; i < 100; ++i) history.add(fmt::format("event {}", i), {});
    history.add(std::string(100'000, 'x'), {});
    REQUIRE(history.events().size() == History::kMaxEvents);
    CHECK(history.events().front().line == "event 81");
    CHECK(history.events().back().line.size() == History::kMaxLine);
}

TEST_CASE("the status page says what the job does, and escapes every text") {
    Picture picture = some_picture();
    picture.run = "<script>";
    picture.history.add("a peer said </li><script>alert(1)</script>", {});
    picture.history.add(round_of(1, 3, 7), Codec::kFp32, key_of(1), {});
    picture.history.add(round_of(2, 3, 5), Codec::kFp32, key_of(1), {});
    picture.credit = runtime::AccountCredit{.account = 12.5, .host = 2};
    picture.time_left = 3h + 5min;
    const std::string html = status_html(picture);
    CHECK(html.find("<script") == std::string::npos);
    CHECK(html.find("Training: &lt;b&gt;samples&lt;/b&gt; &amp; &quot;more&quot;.") !=
          std::string::npos);
    CHECK(html.find("33.3 %: 2 of 6 samples") != std::string::npos);
    CHECK(html.find("Loss by step: 7.0000 at step 1, 5.0000 at step 2") != std::string::npos);
    CHECK(html.find("(this computer)") != std::string::npos);
    CHECK(html.find("12.50 when this task began") != std::string::npos);
    CHECK(html.find("3 h 5 min") != std::string::npos);
    CHECK(html.find("IP address") != std::string::npos);
}

TEST_CASE("the status page of an aggregator says what it averaged, and nothing of its samples") {
    Picture picture = some_picture();
    picture.trains = false;
    picture.averaged = Bytes{12'340'000};
    picture.history.add(round_of(1, 3, 7), Codec::kFp32, key_of(1), {});
    const std::string html = status_html(picture);
    CHECK(html.find("Gradients of other computers averaged here") != std::string::npos);
    CHECK(html.find("12.3 MB") != std::string::npos);
    CHECK(html.find("Samples of this job") == std::string::npos);
    CHECK(html.find("Share of the last step") == std::string::npos);
    CHECK(html.find("Loss of the last step") != std::string::npos);
}

TEST_CASE("a history counts what this peer has averaged of others' gradients") {
    CommitRecord record = round_of(1, 3, 2);
    record.members[0].samples = Samples{0};
    record.members[0].reduced = 1'000;  // two others have samples
    record.members[1].reduced = 500;    // one other has
    History history;
    CHECK(history.add(record, Codec::kFp32, key_of(0), {}).averaged == Bytes{8'000});
    CHECK(history.add(record, Codec::kFp16, key_of(1), {}).averaged == Bytes{1'000});
    CHECK(history.add(record, Codec::kFp32, key_of(2), {}).averaged == Bytes{0});
}

TEST_CASE("a status page with losses that are no numbers has a curve of the others") {
    Picture picture = some_picture();
    picture.history.add(round_of(1, 1, 3), Codec::kFp32, key_of(1), {});
    picture.history.add(round_of(2, 1, std::numeric_limits<double>::quiet_NaN()), Codec::kFp32,
                        key_of(1), {});
    picture.history.add(round_of(3, 1, 2), Codec::kFp32, key_of(1), {});
    const std::string html = status_html(picture);
    const std::size_t curve = html.find("<polyline points=\"");
    REQUIRE(curve != std::string::npos);
    CHECK(html.substr(curve, html.find("/>", curve) - curve).find("nan") == std::string::npos);
    CHECK(html.find("60.0,16.0 780.0,210.0") != std::string::npos);
}

TEST_CASE("the status page is served on loopback, at its own address only") {
    const StatusPage page{some_picture};
    const std::string host = "127.0.0.1:" + port_of(page);
    const std::string whole = get(page, "/", host);
    CHECK(whole.starts_with("HTTP/1.1 200"));
    CHECK(whole.find("<h1>DeDLOC@home on this computer</h1>") != std::string::npos);
    CHECK(whole.find("default-src 'none'") != std::string::npos);
    CHECK(get(page, "/", "volunteers.example").starts_with("HTTP/1.1 421"));
    CHECK(get(page, "/", "127.0.0.1").starts_with("HTTP/1.1 421"));
    CHECK(get(page, "/etc/passwd", host).starts_with("HTTP/1.1 404"));
    CHECK(answer_to(page, "POST / HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
              .starts_with("HTTP/1.1 405"));
    CHECK(answer_to(page, "nonsense\r\n\r\n").empty());
    CHECK(get(page, "/" + std::string(100'000, 'a'), host).find("200 OK") == std::string::npos);
}

TEST_CASE("the status page answers a request that arrives in pieces, and ends an endless one") {
    const StatusPage page{some_picture};
    const auto in_pieces = [&](const std::string& request) {
        Stream stream("127.0.0.1", port_of(page));
        stream.expires_after(20s);
        stream.socket().set_option(boost::asio::ip::tcp::no_delay{true});
        for (const char byte : request) stream << byte << std::flush;
        std::ostringstream answer;
        answer << stream.rdbuf();
        return answer.str();
    };
    const std::string head = "GET / HTTP/1.1\r\nHost: 127.0.0.1:" + port_of(page) + "\r\n";
    CHECK(in_pieces(head + "\r\n").starts_with("HTTP/1.1 200"));
    CHECK(in_pieces(head + "Cookie: " + std::string(10'000, 'a')).empty());
}

TEST_CASE("silent connections to the status page end, and others are answered again") {
    const StatusPage page{some_picture};
    std::vector<Stream> silent(20);
    for (Stream& stream : silent) stream.connect("127.0.0.1", port_of(page));
    // All end, at once or after the page's limit: reading returns without this test's own limit.
    for (Stream& stream : silent) {
        stream.expires_after(60s);
        CHECK(stream.get() == Stream::traits_type::eof());
        CHECK(stream.error() != boost::asio::error::timed_out);
    }
    CHECK(get(page, "/", "127.0.0.1:" + port_of(page)).starts_with("HTTP/1.1 200"));
}

}  // namespace
}  // namespace dedloc::page
