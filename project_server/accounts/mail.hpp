// Sends the project's e-mail: through a relay by SMTP, or by the machine's sendmail program.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "peer/base/error.hpp"

namespace dedloc::server {

/// How a project sends e-mail (dedloc.json).
struct MailSettings {
    std::string from{};                   ///< the sender's address; empty: no e-mail is sent
    std::string sender_name{};            ///< shown beside the address
    std::string relay{};                  ///< smtp:// or smtps://HOST:PORT; empty: sendmail
    std::filesystem::path credentials{};  ///< file with NAME:PASSWORD for the relay; may be empty
    std::filesystem::path sendmail = "/usr/sbin/sendmail";  ///< the program
    std::chrono::seconds first_pause{60};  ///< before the second attempt at a message
    std::chrono::seconds time_limit{30};   ///< for an attempt at a message
};

/// One message in plain text.
struct MailMessage {
    std::string to;       ///< one address
    std::string subject;  ///< one line
    std::string text;     ///< UTF-8; lines end with \n
};

/// The message as it is sent, with headers. Control characters in header fields become blanks.
std::string mail_text(const MailSettings& settings, const MailMessage& message, double now);

/// The relay or sendmail refuses this message for good: another attempt is of no use.
class MailRefused : public IoError {
  public:
    using IoError::IoError;
};

/// Sends one message, and waits until the relay or sendmail has taken it, for the time limit at
/// most. Errors:
/// MailRefused, IoError (it may be taken later, or has been), InputError (an address that could be
/// taken for an option or a header). The sentences do not contain the address.
void deliver(const MailSettings& settings, const MailMessage& message);

}  // namespace dedloc::server
