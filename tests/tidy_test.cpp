// The house is in order: the rules of tidy_rules.hpp over every file of the tree, and each rule
// over a planted violation.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "peer/platform/shell_word.hpp"
#include "tests/tidy_callers.hpp"
#include "tests/tidy_layers.hpp"
#include "tests/tidy_prose.hpp"
#include "tests/tidy_rules.hpp"

namespace dedloc::tidy {
namespace {

const std::vector<SourceFile>& tree() {
    const char* const root = std::getenv("DEDLOC_TREE");
    static const std::vector<SourceFile> files =
        read_tree(root != nullptr ? root : DEDLOC_SOURCE_ROOT);
    return files;
}

template <class Rule>
Findings in_the_whole_tree(Rule rule) {
    Findings all;
    for (const SourceFile& file : tree()) {
        const Findings found = rule(file);
        all.insert(all.end(), found.begin(), found.end());
    }
    return all;
}

bool layers_object(const std::string& path, const std::string& text) {
    return !check_layers({path, text}).empty();
}

bool habits_object(const std::string& path, const std::string& text) {
    return !check_habits({path, text}).empty();
}

std::string repeated(const std::string& line, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += line;
    return text;
}

struct Outcome {
    int status;
    std::string output;
};

Outcome run(const std::string& command) {
    std::unique_ptr<FILE, int (*)(FILE*)> pipe{popen((command + " 2>&1").c_str(), "r"), nullptr};
    REQUIRE(pipe != nullptr);
    std::string output;
    for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
        output += static_cast<char>(c);
    }
    const int status = pclose(pipe.release());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

}  // namespace

TEST_CASE("includes go in one direction and the core uses no clock, thread or adapter", "[tidy]") {
    CHECK(describe(in_the_whole_tree(check_layers)) == "");
}

TEST_CASE("each README says what its folder may include, as the row of the folder does", "[tidy]") {
    CHECK(describe(in_the_whole_tree(check_may_include)) == "");
}

TEST_CASE("statements of SQL stand only in the folders that a README names", "[tidy]") {
    CHECK(describe(check_sql(tree())) == "");
}

TEST_CASE("lines, functions and files keep their limits", "[tidy]") {
    CHECK(describe(in_the_whole_tree(check_limits)) == "");
}

TEST_CASE("habits that do not belong here are found nowhere", "[tidy]") {
    CHECK(describe(in_the_whole_tree(check_habits)) == "");
}

TEST_CASE("language: no banned construction, every declaration and every source explained",
          "[tidy]") {
    CHECK(describe(in_the_whole_tree(check_prose)) == "");
    CHECK(describe(in_the_whole_tree(check_documented)) == "");
    CHECK(describe(in_the_whole_tree(check_introduced)) == "");
}

TEST_CASE("every test is built and every folder says what it is", "[tidy]") {
    CHECK(tree().size() > 30);
    CHECK(describe(check_tree(tree())) == "");
}

TEST_CASE("the product uses every function and class that it declares", "[tidy]") {
    CHECK(describe(check_callers(tree())) == "");
}

TEST_CASE("the hook of git accepts subjects of commits that begin with an area", "[tidy]") {
    const auto status = [](const std::string& subject) {
        return run("printf '%s\\n' " + platform::shell_word(subject) + " | " +
                   platform::shell_word(DEDLOC_SOURCE_ROOT "/.githooks/commit-msg") +
                   " /dev/stdin 2>&1")
            .status;
    };
    CHECK(status("round: call the members") == 0);
    CHECK(status("round, membership, setup: pass on the reason") == 0);
    CHECK(status("Merge branch 'rounds'") == 0);
    CHECK(status("round: " + std::string(65, 'x')) == 0);
    CHECK(status("round: " + std::string(66, 'x')) == 1);
    CHECK(status("peer/round: call the members") == 1);
    CHECK(status("call the members") == 1);
    CHECK(status("round: call the members.") == 1);
    CHECK(status("") == 1);
}

TEST_CASE("every source is as clang-format leaves it", "[tidy]") {
    if (run("clang-format-14 --version").status != 0) {
        std::cout << "skipped: clang-format-14 is not installed, formatting was not checked\n";
        return;
    }
    std::string command =
        "cd " + platform::shell_word(DEDLOC_SOURCE_ROOT) + " && clang-format-14 --dry-run -Werror";
    for (const SourceFile& file : tree()) {
        if (file.path.ends_with(".hpp") || file.path.ends_with(".cpp") ||
            file.path.ends_with(".cu")) {
            command += " " + platform::shell_word(file.path);
        }
    }
    const Outcome outcome = run(command);
    INFO(outcome.output.substr(0, 4000));
    CHECK(outcome.status == 0);
}

TEST_CASE("a layer may include only what its row allows", "[tidy]") {
    CHECK_FALSE(layers_object("kernels/x.cpp", "#include \"kernels/x.hpp\"\n#include <cmath>\n"));
    CHECK(layers_object("kernels/x.cpp", "#include \"peer/base/check.hpp\"\n"));
    CHECK(layers_object("kernels/x.hpp", "#include <ATen/ATen.h>\n"));
    CHECK(layers_object("peer/round/x.hpp", "#include <thread>\n"));
    CHECK(layers_object("peer/round/x.hpp", "  #  include <random>\n"));
    CHECK(layers_object("peer/round/x.hpp", "#include \"peer/net/transport.hpp\"\n"));
    CHECK(layers_object("peer/wire/x.hpp", "#include \"peer/peer.hpp\"\n"));
    CHECK(layers_object("peer/base/x.hpp", "#include \"peer/wire/types.hpp\"\n"));
    CHECK(layers_object("peer/peer.hpp", "#include <boost/asio/post.hpp>\n"));
    CHECK(layers_object("peer/membership/x.hpp", "#include \"peer/round/member.hpp\"\n"));
    CHECK(layers_object("peer/state/x.hpp", "#include \"peer/round/codec.hpp\"\n"));
    CHECK(layers_object("peer/round/x.hpp", "#include \"peer/peer.hpp\"\n"));
    CHECK(layers_object("peer/net/session/x.hpp", "#include \"peer/net/tcp/tcp_link.hpp\"\n"));
    CHECK(layers_object("peer/platform/x.hpp", "#include \"peer/wire/types.hpp\"\n"));
    CHECK_FALSE(
        layers_object("peer/net/tcp/x.cpp", "#include <boost/asio/post.hpp>\n#include <thread>\n"));
    CHECK(layers_object("peer/net/x.cpp", "#include <boinc_api.h>\n"));
    CHECK(layers_object("boinc_app/main.cpp", "#include <torch/torch.h>\n"));
    CHECK_FALSE(layers_object("boinc_app/training/x.cpp", "#include <torch/torch.h>\n"));
    CHECK(layers_object("boinc_app/seat/seat.cpp", "#include \"boinc_app/training/task.hpp\"\n"));
    CHECK(layers_object("boinc_app/x.cpp", "#include \"project_server/settings.hpp\"\n"));
    CHECK(layers_object("project_server/x.cpp", "#include \"boinc_app/x.hpp\"\n"));
    CHECK(layers_object("project_server/x.cpp", "#include \"peer/net/transport.hpp\"\n"));
    CHECK_FALSE(layers_object("project_server/backbone/x.cpp", "#include \"peer/net/x.hpp\"\n"));
    CHECK(layers_object("validators/x.cpp", "#include \"peer/peer.hpp\"\n"));
    CHECK_FALSE(layers_object("tests/x.cpp", "#include <torch/torch.h>\n#include <thread>\n"));
}

TEST_CASE("each part of the server may include only what its row allows", "[tidy]") {
    CHECK_FALSE(layers_object("project_server/gateway/x.cpp",
                              "#include \"project_server/http/form.hpp\"\n"));
    CHECK(layers_object("project_server/gateway/x.cpp",
                        "#include \"project_server/web/site.hpp\"\n"));
    CHECK(layers_object("project_server/accounts/x.cpp",
                        "#include \"project_server/views/tasks.hpp\"\n"));
    CHECK(layers_object("project_server/json/x.cpp",
                        "#include \"project_server/database/database.hpp\"\n"));
    CHECK(layers_object("project_server/database/x.cpp",
                        "#include \"project_server/accounts/accounts.hpp\"\n"));
    CHECK(layers_object("project_server/work/x.cpp", "#include <rapidjson/writer.h>\n"));
    CHECK(layers_object("project_server/settings.cpp",
                        "#include \"project_server/database/database.hpp\"\n"));
    CHECK(layers_object("project_server/new_room/x.cpp",
                        "#include \"project_server/new_room/y.hpp\"\n"));
}

TEST_CASE("a README that says something else than the row of its folder is found", "[tidy]") {
    const auto objections = [](const std::string& text) {
        return check_may_include({"project_server/http/README.md", text}).size();
    };
    const std::string right =
        "May include `database/`, `xml/`,\n`peer/platform/`, `httplib.h` and `peer/base/`";
    CHECK(objections("# http\n\n" + right + ". More of `it`.\n") == 0);
    CHECK(objections("# http\n\n" + right + "; `web/` only in jest.\n") == 0);
    CHECK(objections("# http\n") == 1);
    CHECK(objections(right + ", `web/`.\n") == 1);
    CHECK(objections("May include `database/`, `xml/`, `httplib.h` and `peer/base/`.\n") == 1);
    CHECK(objections(right + " and system headers.\n") == 1);
    CHECK(check_may_include({"project_server/web/pages/README.md", "# pages\n"}).empty());
    CHECK(check_may_include({"tests/README.md", "# tests\n"}).empty());
}

TEST_CASE("SQL in a folder that is not named is found, and a folder without it", "[tidy]") {
    const std::string readme =
        "**SQL.** SQL stands in `database/` and `validators/` only. `web/`\n";
    const auto objections = [&](const std::string& path, const std::string& text) {
        return check_sql({{"project_server/database/README.md", readme},
                          {"project_server/database/x.cpp", "(\"select 1\");\n"},
                          {"validators/x.cpp", "(\"update host set id = ?\");\n"},
                          {path, text}})
            .size();
    };
    CHECK(objections("project_server/web/x.cpp", "log(\"select a file\")\n") == 1);
    CHECK(objections("project_server/web/x.cpp", "log(\"Select a file\")\n") == 0);
    CHECK(objections("project_server/web/x.cpp", "run(\"insert into host values\")\n") == 1);
    CHECK(objections("tests/x.cpp", "run(\"select 1\")\n") == 0);
    CHECK(check_sql({{"project_server/database/README.md", readme}}).size() == 2);
}

TEST_CASE("banned constructions are found in comments, messages and Markdown only", "[tidy]") {
    const auto objects = [](const std::string& path, const std::string& text) {
        return check_prose({path, text}).size();
    };
    CHECK(objects("peer/x.hpp", "// Nobody votes.\n") == 1);
    CHECK(objects("peer/x.hpp", "// Waits for who comes late.\n") == 1);
    CHECK(objects("peer/x.hpp", "int a;  ///< of its ticket\n") == 1);
    CHECK(objects("peer/x.hpp", "// one line\n// of two\n") == 0);
    CHECK(objects("peer/x.cpp", "log(\"there is no room for it\");\n") == 1);
    CHECK(objects("peer/x.cpp", "int nobody = room;\n") == 0);
    CHECK(objects("peer/README.md", "Whoever leaves is forgotten.\n") == 1);
    CHECK(objects("peer/x.hpp", "// Peers that leave are forgotten.\n") == 0);
}

TEST_CASE("declarations that nothing explains are found", "[tidy]") {
    const auto objects = [](const std::string& text) {
        return check_documented({"peer/x.hpp", text}).size();
    };
    CHECK(objects("void f(int a);\n") == 1);
    CHECK(objects("/// Does it.\nvoid f(int a);\n") == 0);
    CHECK(objects("/// Both do it.\nvoid f(int a);\nvoid g(int a);\n") == 0);
    CHECK(objects("/// Does it.\nvoid f(int a);\n\nvoid g(int a);\n") == 1);
    CHECK(objects("/// A thing.\nclass A {\n  private:\n    int a_;\n};\n") == 0);
    CHECK(objects("/// A thing.\nstruct A {\n    int a;\n    int b;  ///< of it\n};\n") == 1);
    CHECK(check_introduced({"peer/x.cpp", "#include <map>\n"}).size() == 1);
    CHECK(check_introduced({"peer/x.cpp", "// How it works.\n#include <map>\n"}).empty());
}

TEST_CASE("functions and classes that only tests use are found", "[tidy]") {
    const auto unused = [](const std::string& header, const std::string& source = "",
                           const std::string& other = "") {
        const Findings findings = check_callers({{"kernels/x.hpp", header},
                                                 {"kernels/x.cpp", source},
                                                 {"peer/y.hpp", other},
                                                 {"tests/fuzz/z.cpp", "int a = f() + g();\n"},
                                                 {"tests/x_test.cpp", "int a = f() + g();\n"}});
        std::string names;
        for (const Finding& finding : findings) {
            names += finding.sentence.substr(0, finding.sentence.find(' ')) + " ";
        }
        return names;
    };
    const std::string x = "#include \"kernels/x.hpp\"\n";
    CHECK(unused("int f(int a);\n") == "f ");
    CHECK(unused("int f(int a);\n", x + "int f(int a) { return a; }\n") == "f ");
    CHECK(unused("int f(int a);\n", x + "int b = f(1);\n") == "");
    CHECK(unused("int f(int a);\n", x + "// f\nauto b = \"f\";\n") == "f ");
    CHECK(unused("int f(int a);\n", "", x + "inline int g() {\n    return 2 * f(1);\n}\n") == "g ");
    CHECK(unused("int f();\nint g(int a = f());\n") == "g ");
    CHECK(unused("int f();\ninline int g() { return f(); }\n") == "g ");
    CHECK(unused("int f();\n#define G f()\n") == "");
    // Another function of that name, and an overload.
    CHECK(unused("int f();\n", "", "int f();\nstatic const int b = f();\n") == "f ");
    CHECK(unused("int f();\n", "", x + "int f(int);\nstatic const int b = f();\n") == "");
    // Templates, members, and what the language or a library calls.
    CHECK(unused("template <class T, int k = f()>\nstd::vector<T> g(T (&a)[k]);\n") == "g ");
    CHECK(unused("struct A {\n    A();\n    explicit A(int);\n    ~A();\n    int f() const;\n"
                 "    int g() override;\n    bool operator==(const A&) const = default;\n"
                 "    operator int() const;\n    void h() = delete;\n};\n",
                 "", x + "static const A a{};\n") == "f ");
    CHECK(unused("struct A {\n    int f() const;\n};\n",
                 x + "int A::f() const { return 1; }\nint b = A{}.f();\n",
                 x + "struct B { A a; };\nstatic const B b;\n") == "");
    CHECK(unused("struct A {\n    int b = 1;\n    int f() { return b; }\n};\n", "",
                 x + "template <class T>\nint g(T a) {\n    return a.f();\n}\n"
                     "static const int c = g(A{});\n") == "");
    // Classes.
    CHECK(unused("class A {\n  public:\n    A(const A&);\n    static A g;\n};\n",
                 x + "A::A(const A&) {}\n") == "A ");
    CHECK(unused("class A {\n  public:\n    static A g();\n};\nint f();\n",
                 x + "A A::g() { return A{}; }\nint f() { return A::g(); }\n") == "f ");
    CHECK(unused("class A;\nclass A {};\n", "", x + "inline const A* a = nullptr;\n") == "");
}

TEST_CASE("the core may not name clocks, threads, chance or adapters", "[tidy]") {
    for (const std::string use :
         {"auto t = std::chrono::steady_clock::now();", "std::mutex m;", "std::jthread t;",
          "std::mt19937_64 g;", "int x = rand();", "asio::post(c, f);", "cudaMalloc(&p, 1);",
          "at::Tensor t;", "boinc_finish(0);", "std::this_thread::sleep_for(1s);"}) {
        INFO(use);
        CHECK(layers_object("peer/round/x.cpp", use));
        CHECK_FALSE(layers_object("peer/round/x.cpp", "// " + use + "\n"));
        CHECK_FALSE(layers_object("peer/round/x.cpp", "auto s = \"" + use + "\";\n"));
    }
    CHECK(layers_object("kernels/lamb.cpp", "x = std::fma(a, b, c);"));
    CHECK(layers_object("kernels/lamb.cpp", "x = std::pow(a, b);"));
    CHECK_FALSE(layers_object("kernels/lamb.cpp", "x = std::sqrt(a);"));
    CHECK(layers_object("kernels/lamb.cpp", "#include <thread>\n"));
    CHECK(layers_object("peer/state/x.cpp", "const kernels::ThreadWorkers workers{2};"));
    CHECK_FALSE(layers_object("kernels/thread_workers.cpp", "#include <thread>\n"));
    CHECK_FALSE(layers_object("peer/round/x.cpp", "operand(1); strand(2);"));
}

TEST_CASE("what is too long is found, whatever surrounds it", "[tidy]") {
    const auto objects = [](const std::string& text) {
        return check_limits({"peer/x.cpp", text}).size();
    };
    CHECK(objects(std::string(100, 'x') + "\n") == 0);
    CHECK(objects(std::string(101, 'x') + "\n") == 1);
    CHECK(objects(repeated("√", 100) + "\n") == 0);
    CHECK(objects(repeated("\n", 500)) == 0);
    CHECK(objects(repeated("\n", 501)) == 1);
    CHECK(objects("void f() {\n" + repeated("  g();\n", 68) + "}\n") == 0);
    CHECK(objects("void f() {\n" + repeated("  g();\n", 69) + "}\n") == 1);
    CHECK(objects("A::A(int b)\n    : b_{b},\n      c_{1} {\n" + repeated("  g();\n", 68) +
                  "}\n") == 1);
    CHECK(objects("namespace n {\nclass A : public B<C()> {\n" + repeated("  void f();\n", 80) +
                  "};\n}\n") == 0);
    CHECK(objects("struct A {\n  void f() const noexcept {\n" + repeated("  if (x) {}\n", 69) +
                  "  }\n};\n") == 1);
    CHECK(objects("const char* brace = \"{\"; // {\n" + repeated("int x{'{'};\n", 80)) == 0);
    CHECK(check_limits({"tests/CMakeLists.txt", repeated("\n", 41)}).size() == 1);
    CHECK(check_limits({"setup", "#!/bin/sh\n" + std::string(101, 'x')}).size() == 1);
    CHECK(check_limits({"peer/README.md", repeated("word\n", 1'300)}).empty());
    CHECK(check_limits({"peer/README.md", repeated("word\n", 1'301)}).size() == 1);
}

TEST_CASE("habits are found in their files", "[tidy]") {
    CHECK(habits_object("peer/x.hpp", "int x;\n"));
    CHECK_FALSE(habits_object("peer/x.hpp", "#pragma once\nint x;\n"));
    CHECK(habits_object("peer/x.cpp", "using namespace std;\n"));
    CHECK(habits_object("peer/x.cpp", "int x; \n"));
    CHECK(habits_object("peer/x.cpp", "#include \"../x.hpp\"\n"));
    CHECK(habits_object("peer/CMakeLists.txt", "file(GLOB all *.cpp)\n"));
    CHECK(habits_object("tests/peer/x_test.cpp", "std::this_thread::sleep_for(1s);\n"));
    CHECK_FALSE(habits_object("tests/integration/x_test.cpp", "sleep_for(1s);\n"));
    CHECK(habits_object("README.md",
                        "see /"
                        "home/somebody/x\n"));
    CHECK_FALSE(habits_object("README.md", "see https://example.org/work/x and work/y\n"));
    CHECK(habits_object("peer/x.cpp",
                        "// TO"
                        "DO: now\n"));
    CHECK_FALSE(habits_object("peer/x.cpp", "// TODO(perf): vectorise\n"));
}

TEST_CASE("what has a home is done nowhere else in the product", "[tidy]") {
    for (const auto& [home, use] : std::initializer_list<std::pair<std::string, std::string>>{
             {"peer/base/units.hpp", "double x = std::chrono::duration<double>(t).count();\n"},
             {"peer/base/utc_text.cpp", "#include <fmt/chrono.h>\n"},
             {"peer/base/utc_text.cpp", "std::strftime(text, 9, form, &time);\n"},
             {"peer/base/sha256.cpp", "EVP_DigestInit_ex(context, EVP_sha256(), nullptr);\n"},
             {"peer/base/bytes.cpp", "sodium_bin2base64(text, 9, bytes, 4, 1);\n"},
             {"peer/platform/descriptor.cpp", "::close(file);\n"},
             {"peer/platform/descriptor.cpp", "pipe2(ends, O_CLOEXEC);\n"},
             {"project_server/url.cpp", "CURLU* url = curl_url();\n"}}) {
        INFO(use);
        const std::string begin = home.ends_with("hpp") ? "#pragma once\n" : "";
        CHECK_FALSE(habits_object(home, begin + use));
        CHECK(habits_object("project_server/x.cpp", use));
        CHECK_FALSE(habits_object("tests/project_server/x_test.cpp", use));
        CHECK_FALSE(habits_object("project_server/x.cpp", "// " + use));
    }
    CHECK_FALSE(habits_object("peer/net/x.cpp", "transport_.close(link);\nlinks::close(link);\n"));
}

TEST_CASE("a test that nobody builds and a folder that nobody explains are found", "[tidy]") {
    const SourceFile readme{"README.md", ""};
    const SourceFile tests_readme{"tests/README.md", ""};
    const SourceFile list{"tests/CMakeLists.txt", "dedloc_test(a LABEL unit SOURCES a_test.cpp)"};
    CHECK(check_tree({readme, tests_readme, list, {"tests/a_test.cpp", ""}}).empty());
    CHECK(check_tree({readme, tests_readme, list, {"tests/b_test.cpp", ""}}).size() == 1);
    CHECK(check_tree({readme, list}).size() == 1);
}

TEST_CASE("a source that hides what its header lacks is found", "[tidy]") {
    const SourceFile readme{"peer/README.md", ""};
    const SourceFile header{"peer/x.hpp", ""};
    const auto objects = [&](const std::string& text) {
        return check_tree({readme, header, {"peer/x.cpp", text}}).size();
    };
    CHECK(objects("// x\n#include \"peer/x.hpp\"\n#include <vector>\n") == 0);
    CHECK(objects("#include <vector>\n#include \"peer/x.hpp\"\n") == 1);
    CHECK(objects("int x;\n") == 1);
    CHECK(check_tree({readme, {"peer/y.cpp", "#include <vector>\n"}}).empty());
}

TEST_CASE("comments and literals are blanked, their lines kept", "[tidy]") {
    CHECK(code_only("a // b\nc") == "a     \nc");
    CHECK(code_only("a /* b\nc */ d") == "a     \n     d");
    CHECK(code_only(R"(x = "a\"b" + 'c';)") == R"(x =        +    ;)");
    CHECK(code_only("R\"(a)\" b").ends_with(" b"));
    CHECK(code_only("1'000 + x") == "1'000 + x");
}

}  // namespace dedloc::tidy
