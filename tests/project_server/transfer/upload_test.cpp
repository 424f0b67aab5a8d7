#include "project_server/transfer/upload.hpp"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "peer/formats/checkpoint_head.hpp"
#include "project_server/transfer/upload_limits.hpp"
#include "project_server/transfer/upload_space.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

/// An upload folder and the key that signs upload certificates.
struct Desk {
    TemporaryDirectory directory;
    ProjectConfig config;
    std::unique_ptr<SigningKey> key;
    std::unique_ptr<UploadStore> store;

    Desk() {
        make_key_pair(directory.path(), "upload");
        config.upload_directory = directory.path() / "upload";
        config.key_directory = directory.path();
        config.directory_fanout = 1024;
        std::filesystem::create_directory(config.upload_directory);
        key = std::make_unique<SigningKey>(directory.path() / "upload_private");
        store = std::make_unique<UploadStore>(config);
    }
    std::string sign(const std::string& name, int max_bytes) const {
        return key->sign_text("<name>" + name + "</name><max_nbytes>" + std::to_string(max_bytes) +
                              "</max_nbytes>");
    }
    /// A client's request that uploads `data`, the part from `offset` on of a file of `total`
    /// bytes.
    std::string request(const std::string& name, const std::string& data, std::size_t total,
                        std::size_t offset, const std::string& md5 = "") const {
        return "<data_server_request>\n    <core_client_major_version>7</core_client_major_version>"
               "\n<file_upload>\n<file_info>\n<name>" +
               name + "</name>\n<xml_signature>\n" + sign(name, 1000) +
               "</xml_signature>\n<max_nbytes>1000.000000</max_nbytes>\n</file_info>\n<nbytes>" +
               std::to_string(total) + "</nbytes>\n<md5_cksum>" + md5 + "</md5_cksum>\n<offset>" +
               std::to_string(offset) + "</offset>\n<data>\n" + data;
    }
    std::string send(const std::string& text, std::size_t piece = 1 << 20) const {
        UploadRequest upload{*store, "192.0.2.1"};
        for (std::size_t at = 0; at < text.size(); at += piece) {
            upload.feed(std::string_view{text}.substr(at, piece));
        }
        return upload.finish();
    }
    std::string size(const std::string& name) const {
        return send("<data_server_request>\n<get_file_size>" + name +
                    "</get_file_size>\n</data_server_request>\n");
    }
    std::string stored(const std::string& name) const {
        std::ifstream file{store->path_of(name)};
        return {std::istreambuf_iterator<char>{file}, {}};
    }
};

auto status(int value) {
    return Catch::Contains("<status>" + std::to_string(value) + "</status>");
}

TEST_CASE("an upload keeps its thread while it brings a kilobyte a second", "[server][boinc]") {
    using namespace std::chrono_literals;
    const UploadPace::Clock::time_point begin{};
    // Bytes that come every `pause`: how long until the upload is cut, within an hour.
    const auto cut_after = [&](std::size_t bytes, std::chrono::milliseconds pause) {
        UploadPace pace{begin};
        auto now = begin;
        while (now - begin < 1h && pace.take(bytes, now)) now += pause;
        return now - begin;
    };
    CHECK(cut_after(1, 10s) == 30s);
    CHECK(cut_after(1'000, 1s) == 60s);
    CHECK(cut_after(1'024, 1s) >= 1h);
    // A link of 64 kbit/s with packets of 1,400 bytes, alone or with three more uploads.
    CHECK(cut_after(1'400, 175ms) >= 1h);
    CHECK(cut_after(1'400, 700ms) >= 1h);
    // All at once, and then nearly nothing.
    UploadPace pace{begin};
    CHECK(pace.take(100'000'000, begin + 1s));
    CHECK(pace.take(1, begin + 30s));
    CHECK_FALSE(pace.take(1, begin + 60s));
}

}  // namespace

TEST_CASE("an upload is complete, however it is cut into pieces", "[server][boinc]") {
    const Desk desk;
    const std::string data{"a\0b<data>\n\xFF", 11};
    for (const std::size_t piece : {1U, 2U, 7U, 64U, 100'000U}) {
        const std::string name = "w_0_r1_" + std::to_string(piece);
        const auto reply =
            desk.send(desk.request(name, data, data.size(), 0, md5_of_text(data)), piece);
        // The client tells its volunteer of any <message>, even an empty one, as an error.
        CHECK(reply == "<data_server_reply>\n    <status>0</status>\n</data_server_reply>\n");
        CHECK(desk.stored(name) == data);
    }
}

TEST_CASE("an upload resumes at its offset", "[server][boinc]") {
    const Desk desk;
    CHECK_THAT(desk.size("f"), Catch::Contains("<file_size>0</file_size>"));
    CHECK_THAT(desk.send(desk.request("f", "hello", 10, 0)), status(1));
    CHECK_FALSE(std::filesystem::exists(desk.store->path_of("f")));
    CHECK_THAT(desk.size("f"), Catch::Contains("<file_size>5</file_size>"));
    CHECK_THAT(desk.send(desk.request("f", "later", 10, 7)), status(1));
    CHECK_THAT(desk.send(desk.request("f", "world", 10, 5)), status(0));
    CHECK(desk.stored("f") == "helloworld");
    CHECK_THAT(desk.size("f"), Catch::Contains("<file_size>10</file_size>"));
}

TEST_CASE("the checkpoint of the largest state may be uploaded", "[server][boinc]") {
    const formats::CheckpointHead largest{
        .step = {}, .digest = {}, .elements = wire::kMaxElements, .vectors = 3};
    CHECK(largest.state_bytes() == std::uint64_t{48} << 30);
    CHECK(kMaxUploadBytes >= largest.state_bytes() + formats::kCheckpointHeadBytes);
}

TEST_CASE("an upload without a valid certificate is refused permanently", "[server][boinc]") {
    const Desk desk;
    std::string forged = desk.request("f", "hello", 5, 0);
    forged.replace(forged.find("<name>f"), 7, "<name>g");
    CHECK_THAT(desk.send(forged), status(-1) && Catch::Contains("invalid signature"));
    CHECK_THAT(desk.send(desk.request("f", "", 1001, 0)), status(-1));
    CHECK_THAT(desk.send(desk.request("f", "too long", 5, 0)), status(-1));
    for (const char* const name : {"../f", ".hidden", "a/b", "", "a%2fb"}) {
        CHECK_THAT(desk.send(desk.request(name, "hello", 5, 0)), status(-1));
        CHECK_THAT(desk.size(name), !Catch::Contains("file_size"));
    }
    CHECK_FALSE(std::filesystem::exists(desk.store->path_of("f")));
    CHECK_FALSE(std::filesystem::exists(desk.store->path_of("g")));
}

TEST_CASE("numbers that no file has bytes for are refused", "[server][boinc]") {
    Desk desk;
    desk.config.ignore_upload_certificates = true;
    const UploadStore trusting{desk.config};
    for (const char* const number : {"1e300", "-1e300", "1e19", "9223372036854775808"}) {
        const auto text = [&](const std::string& bytes, const std::string& offset) {
            return "<file_upload>\n<file_info>\n<name>f</name>\n<max_nbytes>1e300</max_nbytes>\n"
                   "</file_info>\n<nbytes>" +
                   bytes + "</nbytes>\n<offset>" + offset + "</offset>\n<data>\nhello";
        };
        for (const std::string& request : {text(number, "0"), text("5", number)}) {
            UploadRequest upload{trusting, "192.0.2.1"};
            upload.feed(request);
            const bool is_offset_0 = request == text("5", "-1e300");
            const std::string reply = upload.finish();
            CHECK((reply.find("<status>0<") != std::string::npos) == is_offset_0);
        }
    }
}

TEST_CASE("a wrong checksum starts the upload over", "[server][boinc]") {
    const Desk desk;
    CHECK_THAT(desk.send(desk.request("f", "hello", 5, 0, md5_of_text("other"))), status(1));
    CHECK_THAT(desk.size("f"), Catch::Contains("<file_size>0</file_size>"));
}

TEST_CASE("a damaged request is repeated, not given up", "[server][boinc]") {
    const Desk desk;
    const std::string whole = desk.request("f", "hello", 5, 0);
    for (const std::string tag :
         {"<nbytes>", "</nbytes>", "<offset>", "</offset>", "<name>", "</name>", "</xml_signature>",
          "<file_info>", "</file_info>", "</max_nbytes>"}) {
        INFO(tag);
        std::string damaged = whole;
        damaged.erase(damaged.find(tag), 1);
        CHECK_THAT(desk.send(damaged), status(1));
    }
    CHECK_THAT(desk.send(whole), status(0));
}

TEST_CASE("an invalid request gets a reply", "[server][boinc]") {
    const Desk desk;
    CHECK_THAT(desk.send("hello"), status(1) && Catch::Contains("no command"));
    CHECK_THAT(desk.send(""), status(1));
    CHECK_THAT(desk.send("<data>\n"), status(1));
    CHECK_THAT(desk.send(std::string(1 << 20, 'x')), status(-1));
}

TEST_CASE("if a file cannot be written the client is told to retry later", "[server][boinc]") {
    const Desk desk;
    const std::string request = desk.request("f", "hello", 5, 0);
    rlimit usual{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &usual) == 0);
    const rlimit small{.rlim_cur = 2, .rlim_max = usual.rlim_max};
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string reply = desk.send(request);
    setrlimit(RLIMIT_FSIZE, &usual);
    CHECK_THAT(reply, status(1) && Catch::Contains("cannot write"));
    CHECK_THAT(desk.send(request), status(0));
}

TEST_CASE("an upload that the disk cannot take is refused for now", "[server][boinc]") {
    Desk desk;
    std::uint64_t free = kReservedBytes + 1'000;
    desk.store =
        std::make_unique<UploadStore>(desk.config, UploadStore::AccountOf{}, [&] { return free; });
    // Most of the space is promised to an upload in progress.
    const std::string slow = desk.request("slow", "hello", 600, 0);
    {
        UploadRequest upload{*desk.store, "198.51.100.1"};
        REQUIRE(upload.feed(slow));
        CHECK_THAT(desk.send(desk.request("f", "x", 450, 0)),
                   status(1) && Catch::Contains("no space") && Catch::Contains("try again"));
        CHECK_THAT(desk.send(desk.request("g", "hello", 5, 0)), status(0));
        // What has arrived is no longer promised: now the disk has that much less.
        const std::string more(500, 'm');
        REQUIRE(upload.feed(more));
        free -= 505;
        CHECK_THAT(desk.send(desk.request("h", "x", 450, 0)), status(1));
        CHECK_THAT(desk.send(desk.request("h", std::string(150, 'h'), 150, 0)), status(0));
    }
    // The promise has ended with the upload; a resumed one needs only what is missing.
    free = kReservedBytes + 95;
    CHECK_THAT(desk.send(desk.request("f", "x", 96, 0)), status(1));
    CHECK_THAT(desk.send(desk.request("slow", std::string(95, 'm'), 600, 505)), status(0));
    free = kReservedBytes - 1;
    CHECK_THAT(desk.send(desk.request("i", "x", 1, 0)), status(1));
}

TEST_CASE("the uploads of one network leave disk space to others", "[server][boinc]") {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    UploadSpace space{[] { return kReservedBytes + 100 * kGiB; }, [](const auto&) { return 0; }};
    const auto promise = [&](const std::string& address, std::uint64_t bytes) {
        return space.promise({.address = address, .name = "f", .total = bytes}).promise;
    };
    std::vector<std::unique_ptr<UploadSpace::Promise>> promises;
    for (int i = 0; i < 4'096; ++i) {
        const std::string address =
            "203.0." + std::to_string(i / 250) + "." + std::to_string(i % 250);
        if (auto one = promise(address, kGiB)) promises.push_back(std::move(one));
    }
    CHECK(promises.size() == 50);
    for (int i = 0; i < 20; ++i) {
        promises.push_back(promise("198." + std::to_string(i) + ".100.1", kGiB));
        CHECK(promises.back());
    }
    promises.clear();
    CHECK(promise("203.0.113.5", 100 * kGiB));
    CHECK_FALSE(promise("203.0.113.5", 100 * kGiB + 1));
}

namespace {

/// A disk with 100 GiB for uploads, and files of one account after another on it.
struct Disk {
    static constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    std::map<std::string, std::uint64_t> files;
    std::uint64_t looks = 0;
    UploadSpace space{[this] {
                          std::uint64_t used = 0;
                          for (const auto& [name, bytes] : files) used += bytes;
                          return kReservedBytes + 100 * kGiB - used;
                      },
                      [this](const std::string& name) {
                          ++looks;
                          const auto file = files.find(name);
                          return file == files.end() ? 0 : file->second;
                      }};

    /// Uploads a whole file, from another network each time. Empty: it is on the disk.
    std::string upload(std::int64_t account, const std::string& name, std::uint64_t bytes) {
        const auto answer =
            space.promise({.address = "198." + std::to_string(++address_ % 250) + ".100.1",
                           .account = account,
                           .name = name,
                           .total = bytes,
                           .present = files[name]});
        if (!answer.promise) {
            std::erase_if(files, [](const auto& file) { return file.second == 0; });
            return answer.refusal;
        }
        answer.promise->fill(bytes - files[name]);
        files[name] = bytes;
        return {};
    }
    /// How many of so many files of a GiB each the account brings to the disk.
    int fill(std::int64_t account, int count) {
        int stored = 0;
        for (int i = 0; i < count; ++i) {
            const std::string name = std::to_string(account) + "_" + std::to_string(i);
            stored += upload(account, name, kGiB).empty() ? 1 : 0;
        }
        return stored;
    }

  private:
    int address_ = 0;
};

}  // namespace

TEST_CASE("what one account has uploaded leaves half of the disk to others", "[server][boinc]") {
    Disk disk;
    CHECK(disk.fill(1, 200) == 50);
    CHECK_THAT(disk.upload(1, "more", Disk::kGiB),
               Catch::StartsWith("the files that this account has uploaded") &&
                   Catch::EndsWith("try again in an hour"));
    CHECK(disk.upload(1, "receipt", kCountedBytes - 1).empty());
    // Honest accounts go on, also with a large file as their first one.
    for (int i = 10; i < 20; ++i) CHECK(disk.fill(i, 1) == 1);
    CHECK(disk.upload(30, "large", 30 * Disk::kGiB).empty());
    // The validator deletes files that were not asked for, and moves others away.
    std::erase_if(disk.files, [](const auto& file) { return file.first.starts_with("1_"); });
    CHECK(disk.upload(1, "more", Disk::kGiB).empty());
}

TEST_CASE("uploads of an account count while they arrive, whole or in parts", "[server][boinc]") {
    Disk disk;
    const auto promise = [&](std::int64_t account, const std::string& name, std::uint64_t total,
                             std::uint64_t present) {
        return disk.space
            .promise({.address = "203." + std::to_string(account) + ".113.1",
                      .account = account,
                      .name = name,
                      .total = total,
                      .present = present})
            .promise;
    };
    auto first = promise(1, "a", 40 * Disk::kGiB, 0);
    REQUIRE(first);
    CHECK_FALSE(promise(1, "b", 30 * Disk::kGiB, 0));
    // It is cut after 35 GiB, which stay, and goes on: its own part is not in its way.
    first->fill(35 * Disk::kGiB);
    disk.files["a"] = 35 * Disk::kGiB;
    first.reset();
    CHECK_FALSE(promise(1, "b", 30 * Disk::kGiB, 0));
    CHECK(promise(1, "a", 90 * Disk::kGiB, 35 * Disk::kGiB));
    // Its checksum was wrong, so it has been deleted.
    disk.files.clear();
    CHECK(promise(1, "b", 90 * Disk::kGiB, 0));
    // If the account is unknown, as while the database is away, only the network counts.
    CHECK(promise(0, "c", 60 * Disk::kGiB, 0));
    CHECK(promise(0, "d", 60 * Disk::kGiB, 0));
}

TEST_CASE("files that are gone are forgotten without many looks at the disk", "[server][boinc]") {
    Disk disk;
    constexpr std::uint64_t kSmall = 1 << 20;
    for (int i = 0; i < 10'000; ++i) {
        disk.files.clear();  // all are deleted at once
        REQUIRE(disk.upload(i % 7, std::to_string(i), kSmall).empty());
    }
    CHECK(disk.looks < 25'000);  // one at the end of each upload, and the looks at all
}

TEST_CASE("an account that fills the disk is told so, and its receipts still arrive",
          "[server][boinc]") {
    Desk desk;
    const std::uint64_t free = kReservedBytes + 400'000;
    desk.config.ignore_upload_certificates = true;
    std::vector<std::string> asked;
    desk.store = std::make_unique<UploadStore>(
        desk.config,
        [&](const std::string& result) {
            asked.push_back(result);
            return result.starts_with("run_1_") ? 1 : 2;
        },
        [&] { return free; });
    const auto upload = [&](const std::string& name, std::size_t bytes) {
        const std::string data(bytes, 'x');
        return desk.send("<file_upload>\n<file_info>\n<name>" + name +
                         "</name>\n<max_nbytes>1e9</max_nbytes>\n</file_info>\n<nbytes>" +
                         std::to_string(bytes) + "</nbytes>\n<offset>0</offset>\n<data>\n" + data);
    };
    CHECK_THAT(upload("run_1_0_r7_1", 150'000), status(0));
    CHECK(asked == std::vector<std::string>{"run_1_0"});
    CHECK_THAT(upload("run_1_1_r7_1", 150'000),
               status(1) && Catch::Contains("this account has uploaded"));
    CHECK_THAT(upload("run_1_1_r7_0", 60'000), status(0));
    CHECK_THAT(upload("run_2_0_r7_1", 150'000), status(0));
    std::filesystem::remove(desk.store->path_of("run_1_0_r7_1"));
    CHECK_THAT(upload("run_1_1_r7_1", 150'000), status(0));
}

}  // namespace dedloc::server
