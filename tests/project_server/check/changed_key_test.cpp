// A project whose code-signing key was changed, or is being changed.
#include "project_server/publishing/key_change.hpp"
#include "tests/project_server/check/checked_project.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;

void change_key(CheckedProject& project) {
    server::change_key(project.database(), project.config(), {}, [](const auto&) {});
}

void find(CheckedProject& project, const std::string& sentence, Level level) {
    std::string said;
    bool is_found = false;
    for (const Finding& fault : project.faults()) {
        said += fault.check + ": " + fault.sentence + '\n';
        is_found |= fault.level == level && fault.sentence.find(sentence) != std::string::npos;
    }
    INFO(said);
    CHECK(is_found);
}

}  // namespace

TEST_CASE("a changed code-signing key is no fault", "[server][integration]") {
    CheckedProject project;
    change_key(project);
    CHECK(project.faults().empty());
}

TEST_CASE("a change of the key that is not complete is found", "[server][integration]") {
    CheckedProject project;
    fs::create_directory(project.root() / "keys/next");
    find(project, "a change of the key that signs app versions is not complete", Level::kBad);
}

TEST_CASE("keys that are older than the database are found", "[server][integration]") {
    CheckedProject project;
    const auto keys = project.root() / "keys";
    const auto former = project.root() / "former";
    fs::copy(keys, former);
    change_key(project);
    for (const char* const name : {"code_sign_public", "code_sign_private"}) {
        fs::rename(former / name, keys / name);
    }
    find(project, "is not the key by which the app versions are signed", Level::kBad);
}

TEST_CASE("a former key that leads nowhere is found", "[server][integration]") {
    CheckedProject project;
    change_key(project);
    platform::replace_file(project.root() / "keys/signature_0", "00\n.\n");
    find(project, "no signature leads from", Level::kWarning);
}

}  // namespace dedloc::check
