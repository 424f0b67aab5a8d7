// One struct of options is shared by the parser and the three callbacks, and one lambda adds the
// options that all of them have. Adding refuses a project of an official server, whose home page
// shows other news; listing and removing work there as well. A text comes from the command line, a
// file or standard input, and its size is limited when it is a file.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/utc_text.hpp"
#include "peer/platform/files.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/database/news.hpp"
#include "project_server/project/project.hpp"

namespace dedloc::cli {
namespace {

constexpr std::size_t kMaxFile = 64 * 1024;
constexpr int kListed = 100;

struct NewsChoice {
    std::filesystem::path project;
    std::string title;
    std::string text;
    std::string file;
    std::int64_t id = 0;
    bool prints_json = false;
};

std::string text_of(const NewsChoice& choice) {
    if (choice.file.empty()) return choice.text;
    if (choice.file == "-") {
        return {std::istreambuf_iterator<char>{std::cin}, std::istreambuf_iterator<char>{}};
    }
    return platform::read_text(choice.file, kMaxFile);
}

void add(const NewsChoice& choice) {
    project::ProjectDatabase access{
        project::own_project(choice.project,
                             "its home page shows the threads of its news forum, so "
                             "begin one there; {} shows no other news")};
    const auto id =
        server::add_news(access.database(), choice.title, text_of(choice), server::unix_now());
    if (choice.prints_json) {
        json::Value data;
        return print(data.set("id", id), true);
    }
    fmt::print("news {} is on the project's home page\n", id);
}

void list(const NewsChoice& choice) {
    project::ProjectDatabase access{project::existing_project(choice.project)};
    const auto news = server::read_news(access.database(), kListed);
    if (choice.prints_json) {
        json::Value::List items;
        for (const auto& item : news) {
            json::Value data;
            data.set("id", item.id).set("created_at", item.created).set("title", item.title);
            items.push_back(std::move(data.set("text", item.text)));
        }
        json::Value data;
        return print(data.set("news", std::move(items)), true);
    }
    for (const auto& item : news) {
        fmt::print("{:>6}  {}  {}\n", item.id,
                   utc_text(static_cast<std::int64_t>(item.created), "%Y-%m-%d %H:%M"), item.title);
    }
}

void remove(const NewsChoice& choice) {
    project::ProjectDatabase access{project::existing_project(choice.project)};
    if (!server::remove_news(access.database(), choice.id)) {
        throw InputError(fmt::format("the project has no news {}", choice.id));
    }
    if (choice.prints_json) {
        json::Value data;
        return print(data.set("id", choice.id), true);
    }
    fmt::print("news {} removed\n", choice.id);
}

}  // namespace

void add_news_commands(CLI::App& dedloc) {
    auto* const news = dedloc.add_subcommand("news", "News on the project's web page");
    news->require_subcommand(1);
    const auto choice = std::make_shared<NewsChoice>();  // shared by parser and callbacks
    const auto command = [&](const char* name, const char* what, void (*work)(const NewsChoice&)) {
        auto* const added = news->add_subcommand(name, what);
        added->add_option("--project", choice->project, "The project's folder")->required();
        added->add_flag("--json", choice->prints_json, "Print JSON");
        added->callback([choice, work] { work(*choice); });
        return added;
    };
    auto* const adding = command("add", "Publish news", add);
    adding->add_option("--title", choice->title, "One line")->required();
    auto* const text = adding->add_option("--text", choice->text, "The text");
    auto* const file =
        adding->add_option("--file", choice->file, "The file with the text; -: standard input");
    text->excludes(file);
    command("list", "List the newest 100", list);
    auto* const removal = command("remove", "Remove news", remove);
    removal->add_option("--id", choice->id, "The number that list shows")->required();
}

}  // namespace dedloc::cli
