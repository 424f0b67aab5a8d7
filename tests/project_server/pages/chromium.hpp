// Chromium without a window, driven by its DevTools protocol through a pipe.
#pragma once

#include <rapidjson/document.h>
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/temporary_directory.hpp"

namespace dedloc::browser {

/// True if the program `chromium` is in PATH.
bool is_installed();

/// One browser with one tab. It reaches no host but 127.0.0.1. Errors: Error from each operation if
/// the browser ends, refuses a command or does not answer in a minute.
class Chromium {
  public:
    Chromium();
    ~Chromium();
    Chromium(const Chromium&) = delete;
    Chromium& operator=(const Chromium&) = delete;

    /// Lays pages out for a window that is `width` CSS pixels wide; below 600 as a phone does.
    void set_width(int width);
    /// Whether pages may run scripts, from the next page on.
    void set_scripts(bool are_on);
    /// Opens a page, or sends a form by the script `submit` of the page that is open, and waits
    /// until it has loaded. Returns its HTTP status.
    int open(const std::string& url);
    int submit(const std::string& script);
    /// The value of a JavaScript expression as JSON. Also works on pages whose scripts are off.
    rapidjson::Document evaluate(const std::string& expression);
    /// Writes the whole page as PNG.
    void take_picture(const std::filesystem::path& file);
    /// What went wrong in pages since the last call: exceptions, errors in the console, requests
    /// that failed, dialogs.
    std::vector<std::string> take_complaints();

  private:
    int send(const std::string& method, const std::string& parameters);
    rapidjson::Document call(const std::string& method, const std::string& parameters = "{}");
    rapidjson::Document next_message();
    void on_event(const rapidjson::Document& message);
    int wait_until_loaded();

    const TemporaryDirectory folder_;
    pid_t process_ = 0;
    int to_browser_ = -1;
    int from_browser_ = -1;
    std::string received_;  ///< bytes of the messages that follow
    int last_id_ = 0;
    std::string session_;  ///< the tab's
    bool has_loaded_ = false;
    int status_ = 0;
    std::vector<std::string> complaints_;
};

}  // namespace dedloc::browser
