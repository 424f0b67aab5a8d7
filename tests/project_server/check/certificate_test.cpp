// Certificates and keys, also in the forms in which other programs write them.
#include "project_server/check/certificate.hpp"

#include <catch2/catch.hpp>

#include "peer/platform/process.hpp"
#include "tests/project_server/check/defects.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;

void openssl(platform::Command arguments) {
    arguments.insert(arguments.begin(), "openssl");
    REQUIRE(platform::run_to_end(arguments).status == 0);
}

const std::string kHost = "train.example.org";

/// A certificate for a name, and its key.
void make(CheckedProject& p, const std::string& name, int days) {
    p.settings.url = "https://train.example.org/";
    p.settings.certificate = p.root() / (name + ".pem");
    p.settings.certificate_key = p.root() / (name + ".key");
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", std::to_string(days), "-subj", "/CN=" + name, "-addext",
             "subjectAltName=DNS:" + name, "-keyout", p.settings.certificate_key.string(), "-out",
             p.settings.certificate.string()});
    chmod(p.settings.certificate_key.c_str(), 0600);
}

/// Replaces a file by what a command of OpenSSL makes of it.
void rewrite(platform::Command command, const fs::path& file) {
    const std::string written = file.string() + ".new";
    command.insert(command.end(), {"-in", file, "-out", written});
    openssl(command);
    fs::rename(written, file);
    chmod(file.c_str(), 0600);
}

TEST_CASE("certificates that end soon or do not fit are found", "[server][integration]") {
    find_each({
        {"certificate", "expires in 4 days", Level::kWarning,
         [](CheckedProject& p) {
             make(p, kHost, 5);
             p.seconds_later = 60;
         }},
        {"certificate", "has expired", Level::kBad,
         [](CheckedProject& p) {
             make(p, kHost, 5);
             p.seconds_later = 6 * 86'400;
         }},
        {"certificate", "is not for the URL's host train.example.org", Level::kBad,
         [](CheckedProject& p) { make(p, "www.example.org", 90); }},
        {"certificate", "is not the key of the certificate", Level::kBad,
         [](CheckedProject& p) {
             make(p, kHost, 90);
             const auto key = p.settings.certificate_key;
             make(p, "x.example.org", 90);
             p.settings.certificate = p.root() / (kHost + ".pem");
         }},
        {"certificate", "is no certificate", Level::kBad,
         [](CheckedProject& p) {
             make(p, kHost, 90);
             platform::replace_file(p.settings.certificate, "x");
         }},
        {"certificate", "No such file", Level::kBad,
         [](CheckedProject& p) {
             make(p, kHost, 90);
             fs::remove(p.settings.certificate);
         }},
    });
    CheckedProject project;
    make(project, kHost, 90);
    CHECK(project.faults().empty());
}

TEST_CASE("certificates and keys are read with any line ends, and DER is named",
          "[server][integration]") {
    find_each({
        {"certificate", "is a certificate in DER, and nginx reads PEM: openssl x509", Level::kBad,
         [](CheckedProject& p) {
             make(p, kHost, 90);
             rewrite({"x509", "-outform", "DER"}, p.settings.certificate);
         }},
        {"certificate", "is a key in DER, and nginx reads PEM: openssl pkey", Level::kBad,
         [](CheckedProject& p) {
             make(p, kHost, 90);
             rewrite({"pkey", "-outform", "DER"}, p.settings.certificate_key);
         }},
        {"certificate", "is no private key without a password", Level::kBad,
         [](CheckedProject& p) {
             make(p, kHost, 90);
             rewrite({"pkey", "-aes128", "-passout", "pass:x"}, p.settings.certificate_key);
         }},
    });
    CheckedProject project;
    make(project, kHost, 90);
    for (const auto& file : {project.settings.certificate, project.settings.certificate_key}) {
        std::string text;
        for (const char c : platform::read_text(file)) text += c == '\n' ? "\r\n" : std::string{c};
        platform::replace_file(file, text + "\r\n\n", platform::kSecretFile);
    }
    CHECK(project.faults().empty());
    CHECK(
        certificate_fault(project.settings.certificate, project.settings.certificate_key).empty());
    CHECK_THAT(certificate_fault(project.settings.certificate, project.settings.certificate),
               Catch::Contains("is no private key"));
}

}  // namespace
}  // namespace dedloc::check
