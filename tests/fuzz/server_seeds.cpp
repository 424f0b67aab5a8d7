#include <initializer_list>
#include <iterator>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/formats/enrolment.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/peer/wire/samples.hpp"
#include "tests/project_server/control/samples.hpp"

namespace dedloc::fuzz {
namespace {

std::string captured(const std::string& name) {
    std::ifstream file{std::string{DEDLOC_CAPTURED} + "/" + name};
    return {std::istreambuf_iterator<char>{file}, {}};
}

void write_scheduler_requests(const std::filesystem::path& root) {
    const Corpus corpus(root, "scheduler_request");
    corpus.add("work", bytes_of(captured("request-work.xml")));
    corpus.add("report", bytes_of(captured("request-report.xml")));
    corpus.add("message",
               bytes_of("<scheduler_request><authenticator>a&amp;b</authenticator>"
                        "<msg_from_host><result_name>r</result_name><variety>v</variety><time>1"
                        "</time><![CDATA[</msg_from_host>]]></msg_from_host>"
                        "<other_results><other_result><name>r_1</name></other_result>"
                        "</other_results><allow_multiple_clients/></scheduler_request>"));
}

/// As fuzz_upload.cpp reads them: certificates or none, and the size of the pieces.
void write_uploads(const std::filesystem::path& root) {
    const Corpus corpus(root, "upload");
    const auto part = [](const std::string& offset, const std::string& data) {
        return "<data_server_request>\n<core_client_major_version>7</core_client_major_version>\n"
               "<file_upload>\n<file_info>\n<name>f</name>\n<xml_signature>\nSIGNED"
               "</xml_signature>\n<max_nbytes>1000</max_nbytes>\n</file_info>\n"
               "<nbytes>10</nbytes>\n<md5_cksum></md5_cksum>\n<offset>" +
               offset + "</offset>\n<data>\n" + data;
    };
    const std::string question =
        "<data_server_request>\n<get_file_size>f</get_file_size>\n</data_server_request>\n";
    const std::string between = "\n%%\n";
    const auto add = [&](const std::string& name, char choices, const std::string& requests) {
        corpus.add(name, bytes_of(choices + requests));
    };
    add("whole", 31, part("0", "helloworld"));
    add("bytewise", 1, part("0", "helloworld"));
    add("resumed", 31, part("0", "hello") + between + question + between + part("5", "world"));
    add("without_certificate", 6, part("0", "hello") + between + part("3", "loworld"));
    add("question", 31, question);
}

void write_accounts(const std::filesystem::path& root) {
    const Corpus corpus(root, "account");
    corpus.add("whole", bytes_of("Ann@Example.org\n0123456789abcdef0123456789abcdef\nAnn\n"));
    corpus.add("no_name", bytes_of("ann@example.org\n0123456789abcdef0123456789abcdef\n"));
}

void write_forms(const std::filesystem::path& root) {
    const Corpus corpus(root, "form");
    corpus.add("form", bytes_of("name=Ann+Lee&country=%C3%85land&form_token=00&next=%0D%0Ax"));
    corpus.add("cookies", bytes_of("dedloc_form=0123; dedloc_session=89ab; other"));
}

void write_model_folders(const std::filesystem::path& root) {
    const Corpus corpus(root, "model_folder");
    const auto add = [&](const std::string& name, char choice, const std::string& text) {
        corpus.add(name, bytes_of(choice + text));
    };
    add("header", 0,
        R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,4],)"
        R"("data_offsets":[0,32]},)"
        R"("b":{"dtype":"BF16","shape":[16],"data_offsets":[32,64]}})");
    add("config", 1,
        R"({"model_type":"albert","hidden_act":"gelu_new","hidden_size":16,)"
        R"("num_attention_heads":2})");
    // Two pieces, the kind of model, and a table of the normaliser.
    add("tokenizer", 2,
        std::string{"\x0a\x0e\x0a\x05<pad>\x15\0\0\0\0\x18\x03\x0a\x0a\x0a\x01"
                    "a\x15\0\0\0\xc0\x18\x01\x12\x02\x18\x01\x1a\x03\x12\x01x",
                    37});
}

void write_gateway(const std::filesystem::path& root) {
    const Corpus corpus(root, "gateway");
    const auto add = [&](const std::string& name, const std::string& text) {
        corpus.add(name, bytes_of(text));
    };
    const formats::Ticket ticket = tests::test_ticket(2);
    add("request", formats::write_enrolment_request({.authenticator = "0123456789abcdef",
                                                     .host = 7,
                                                     .result = "albert_1_0",
                                                     .key = ticket.peer,
                                                     .port = 31'416}));
    formats::EnrolmentReply reply;
    reply.ticket = formats::sign(ticket, tests::test_key());
    reply.revoked = formats::sign(formats::Revocations{}, tests::test_key());
    reply.address = "192.0.2.7";
    reply.upload = Bandwidth{1'250'000};
    reply.download = Bandwidth{12'500'000};
    add("reply", formats::write_enrolment_reply(reply));
    formats::GatewayReport report;
    report.project = "p";
    report.now = formats::UtcSeconds{std::chrono::seconds{1'700'000'000}};
    report.address = "2001:db8::1";
    report.dht_seeds = {"192.0.2.1:6881", "[2001:db8::2]:6881"};
    add("report", formats::write_gateway_report(report));
    add("arrival", formats::write_arrival(formats::kMaxMeasuredBytes));
    add("error", formats::write_enrolment_error("no \"such\" job"));
    add("coprocessors", "[CUDA|Some GPU|2|16384MB|0][CAL|x|1|8MB|][BOINC|7.20.5]");
}

void write_control(const std::filesystem::path& root) {
    const Corpus corpus(root, "control");
    for (const control::Event& event : control::sample_events()) {
        corpus.add("event_" + std::to_string(event.sequence), bytes_of(control::write(event)));
    }
    corpus.add("pause",
               bytes_of(control::write(control::Request{.command = control::Command::kPause})));
    corpus.add(
        "revoke",
        bytes_of(control::write(control::Request{.command = control::Command::kRevoke,
                                                 .revocation = {.users = {1},
                                                                .hosts = {2},
                                                                .keys = {control::key(3)},
                                                                .voters = {control::key(4)}}})));
    corpus.add("snapshot",
               bytes_of(control::write(control::Reply{.is_done = true,
                                                      .note = "a snapshot",
                                                      .step = 4,
                                                      .snapshot = control::sample_snapshot()})));
}

}  // namespace

void write_server_seeds(const std::filesystem::path& root) {
    write_scheduler_requests(root);
    write_uploads(root);
    write_accounts(root);
    write_forms(root);
    write_gateway(root);
    write_model_folders(root);
    write_control(root);
}

}  // namespace dedloc::fuzz
