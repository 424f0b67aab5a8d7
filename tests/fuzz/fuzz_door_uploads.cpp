// Uploads at the real door: requests of one client with odd values in them; the file of another
// one, uploaded before, stays as it is, and its next one is stored whole.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "peer/base/check.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/transfer/upload.hpp"
#include "tests/fuzz/door_world.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxUploads = 4;
constexpr std::size_t kMaxUploadChanges = 3;
constexpr const char* kOddFile = "first_2_0_r7_0";
constexpr const char* kKeptFile = "first_1_0_r7_0";
constexpr const char* kNextFile = "first_1_0_r7_1";
constexpr const char* kText = "helloworld";

std::string head(const server::SigningKey& key, const std::string& name, std::size_t bytes,
                 std::size_t offset) {
    const std::string signature =
        key.sign_text(fmt::format("<name>{}</name><max_nbytes>1000</max_nbytes>", name));
    return fmt::format(
        "<data_server_request>\n<core_client_major_version>7</core_client_major_version>\n"
        "<core_client_minor_version>20</core_client_minor_version>\n<core_client_release>5"
        "</core_client_release>\n<file_upload>\n<file_info>\n<name>{}</name>\n<xml_signature>\n{}"
        "</xml_signature>\n<max_nbytes>1000.000000</max_nbytes>\n</file_info>\n<nbytes>{}"
        "</nbytes>\n<md5_cksum></md5_cksum>\n<offset>{}</offset>\n<data>\n",
        name, signature, bytes, offset);
}

Answer upload(DoorProject& project, const Person& person, const std::string& body) {
    Answer answer = project.web({.target = "/file_upload_handler",
                                 .body = body,
                                 .address = person.address,
                                 .type = "text/xml"});
    DEDLOC_CHECK(answer.status != 200 || answer.body.find("<status>") != std::string::npos,
                 "every upload is answered", body, answer.body);
    return answer;
}

bool is_done(const Answer& answer) {
    return answer.body.find("<status>0</status>") != std::string::npos;
}

std::string stored(const DoorProject& project, const std::string& name) {
    std::ifstream file(server::UploadStore{project.config()}.path_of(name), std::ios::binary);
    return {std::istreambuf_iterator<char>{file}, {}};
}

bool exists(const DoorProject& project, const std::string& name) {
    return fs::exists(server::UploadStore{project.config()}.path_of(name));
}

std::string odd_upload(const server::SigningKey& key, const DoorProject& project, Recipe& recipe) {
    static const std::string text = kText;
    const std::size_t kind = recipe.choose(4);
    if (kind == 3) {
        std::string question = fmt::format(
            "<data_server_request>\n<get_file_size>{}</get_file_size>\n</data_server_request>\n",
            kOddFile);
        make_odd(question, recipe, project.known_values());
        return question;
    }
    const std::size_t offset = kind == 1 ? 5 : 0;
    std::string xml = head(key, kOddFile, text.size(), offset);
    for (std::size_t left = recipe.choose(kMaxUploadChanges + 1); left > 0; --left) {
        make_odd(xml, recipe, project.known_values());
    }
    return xml + (kind == 2 ? text.substr(0, 5) : text.substr(offset));
}

}  // namespace

void fuzz_door_uploads(std::span<const std::byte> input) {
    Recipe recipe{input};
    DoorProject& project = door_world().project(recipe.choose(3));
    static const server::SigningKey key(project.config().key_directory / "upload_private");
    const fs::path folder = project.config().upload_directory;
    fs::remove_all(folder);
    fs::create_directory(folder);
    const Person& honest = project.honest();
    const std::string text = kText;
    const std::string whole = head(key, kKeptFile, text.size(), 0) + text;
    const Answer first = upload(project, honest, whole);
    DEDLOC_CHECK(is_done(first), "an honest upload is done", first.head, first.body);
    for (std::size_t left = 1 + recipe.choose(kMaxUploads); left > 0; --left) {
        const std::string body = odd_upload(key, project, recipe);
        const Answer answer = upload(project, project.odd(), body);
        const std::size_t name = body.find(std::string{"<name>"} + kOddFile);
        const bool sends_file = body.find("<file_upload>") != std::string::npos &&
                                name != std::string::npos && name == body.find("<name>");
        DEDLOC_CHECK(!sends_file || !is_done(answer) || exists(project, kOddFile),
                     "an acknowledged upload is stored", body, answer.body);
        DEDLOC_CHECK(stored(project, kKeptFile) == text, "an uploaded file stays as it is", body);
    }
    const auto half = text.size() / 2;
    upload(project, honest, head(key, kNextFile, text.size(), 0) + text.substr(0, half));
    const Answer last =
        upload(project, honest, head(key, kNextFile, text.size(), half) + text.substr(half));
    DEDLOC_CHECK(is_done(last) && stored(project, kNextFile) == text,
                 "an honest upload that was cut goes on and is stored", last.body);
}

}  // namespace dedloc::fuzz
