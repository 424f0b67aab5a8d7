#include <fmt/format.h>

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
    corpus.add("invited", bytes_of("Ann@Example.org\n0123456789abcdef0123456789abcdef\nAnn\n"
                                   "7k2m-q9xa-4otb-zc5e\n"));
    corpus.add("code", bytes_of(" 7K2M Q9XA-40TB-ZC5E"));
    corpus.add("form", bytes_of("name=Ann+Lee&country=%C3%85land&form_token=00&next=%0D%0Ax"));
    corpus.add("cookies", bytes_of("dedloc_form=0123; dedloc_session=89ab; other"));
}

void write_model_folders(const std::filesystem::path& root) {
    using namespace std::string_literals;  // for texts with zeros
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
    // A dictionary of one tensor, as PyTorch writes it.
    add("pickle", 3,
        "\x80\x02}X\x01\0\0\0actorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storage"s
        "ctorch\nFloatStorage\nX\x01\0\0\0"s
        "0X\x03\0\0\0cpuK\x06tQK\0K\x02K\x03\x86K\x03K\x01\x86\x89NtRs."s);
    add("tokenizer_json", 4,
        R"({"added_tokens":[{"id":0,"content":"<unk>","special":true}],"normalizer":)"
        R"({"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"``"},)"
        R"("content":"\""},{"type":"NFKD"},{"type":"StripAccents"},{"type":"Lowercase"},)"
        R"({"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAAA="},{"type":"Strip",)"
        R"("strip_left":true,"strip_right":true},{"type":"Replace","pattern":{"Regex":" {2,}"},)"
        R"("content":" "}]},"pre_tokenizer":{"type":"Sequence","pretokenizers":[)"
        R"({"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","split":true}]},)"
        R"("model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-1.5]]}})");
    add("tokenizer_config", 5,
        R"({"tokenizer_class":"AlbertTokenizer","do_lower_case":true,"mask_token":{"content":)"
        R"("[MASK]","lstrip":true},"added_tokens_decoder":{"4":{"content":"[MASK]"}}})");
    add("text", 6, "THE caf\u00e9 9, ``a'' <unk> \u0130\xff\x04\0\0\0\0\0\0\0"s);
}

void write_labelled_files(const std::filesystem::path& root) {
    const Corpus corpus(root, "labelled_file");
    const auto add = [&](const std::string& name, char choice, const std::string& text) {
        corpus.add(name, bytes_of(choice + text));
    };
    add("tags", 0, "Ann\tB-PER\nLee\tI-PER\n\nin O\nRome NNP B-LOC\r\n");
    add("document", 0, "\xEF\xBB\xBF-DOCSTART- -X- O\n\nx\tI-A-B\n");
    add("table", 1, "id\tcategory\ttext\n7\tnews\t\"a b\n8\tsport\tc\n");
    add("labels", 1, "text\tlabel\nx\tsport\n");
}

/// As fuzz_tokenizer.cpp reads them: a tokenizer.json, and a text behind a byte 0xff.
void write_tokenizers(const std::filesystem::path& root) {
    const Corpus corpus(root, "tokenizer");
    const auto add = [&](const std::string& name, const std::string& normalizers,
                         const std::string& divisions, const std::string& text) {
        const std::string json =
            R"({"added_tokens":[{"id":1,"content":"[MASK]","lstrip":true,"special":true,)"
            R"("normalized":true}],"normalizer":{"type":"Sequence","normalizers":[)" +
            normalizers + R"(]},"pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + divisions +
            R"(]},"post_processor":{"type":"TemplateProcessing","single":[)"
            R"({"SpecialToken":{"id":"c","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
            R"({"SpecialToken":{"id":"s","type_id":0}}],"special_tokens":{"c":{"ids":[0]},)"
            R"("s":{"ids":[1]}}},"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],)"
            R"(["[MASK]",0.0],["a",-1.5],["▁a",-2.5],["▁",-3]]}})";
        corpus.add(name, bytes_of(json + "\xff" + text));
    };
    const std::string metaspace = R"({"type":"Metaspace","replacement":"▁"})";
    add("community",
        R"({"type":"Nmt"},{"type":"NFKC"},{"type":"Replace","pattern":{"String":"|"},)"
        R"("content":"।"},{"type":"Replace","pattern":{"Regex":"(?<=[\u0980-\u09ff]):"},)"
        R"("content":"ঃ"},{"type":"Lowercase"})",
        metaspace + R"(,{"type":"Digits","individual_digits":true},{"type":"Punctuation"})",
        "a [MASK] ক: 12|");
    add("backtracks",
        R"({"type":"Replace","pattern":{"Regex":"(a*)*b"},"content":""},)"
        R"({"type":"Prepend","prepend":"▁"},{"type":"Strip","strip_left":true,)"
        R"("strip_right":true},{"type":"StripAccents"})",
        R"({"type":"Whitespace"},{"type":"FixedLength","length":2})", std::string(100, 'a'));
    add("grows", R"({"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaaaaaaaa"})",
        R"({"type":"Split","pattern":{"Regex":"a+?"},"behavior":"MergedWithNext","invert":true},)"
        R"({"type":"CharDelimiterSplit","delimiter":"b"},{"type":"BertPreTokenizer"},)" +
            metaspace,
        "abab");
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

void write_job_documents(const std::filesystem::path& root) {
    const Corpus corpus(root, "job_documents");
    const auto add = [&](const std::string& name, const std::string& text) {
        corpus.add(name, bytes_of(text));
    };
    add("result",
        "<file_info>\n<name>demo_5_0_r77_0</name>\n<max_nbytes>1000</max_nbytes>\n</file_info>\n"
        "<result>\n<file_ref>\n<file_name>demo_5_0_r77_0</file_name>\n"
        "<open_name>receipt</open_name>\n</file_ref>\n<!-- <file_ref> --></result>\n");
    add("version",
        "<file_info><name>dedloc_train_1.0</name><executable/><nbytes>12.000000</nbytes>"
        "</file_info><app_version><file_ref><file_name>dedloc_train_1.0</file_name><main_program/>"
        "</file_ref></app_version>");
    add("message", "<result_name>demo_5_0</result_name>\n<time>1</time>\n<![CDATA[<x>]]>&#195;");
    add("hostile", "<b class=\"x\">'&amp;&#39;\xC3\xA9\xFF\x01\xEF\xBF\xBE]]>-->");
}

/// As fuzz_preferences.cpp reads them: venue and value, what is stored, what a manager sends.
void write_preferences(const std::filesystem::path& root) {
    const Corpus corpus(root, "preferences");
    const std::string jobs =
        "<project_preferences>\n<resource_share>50</resource_share>\n<no_cuda>1</no_cuda>\n"
        "<project_specific>\n<x>1</x>\n</project_specific>\n<venue name=\"home\">\n<no_cpu/>\n"
        "</venue>\n</project_preferences>";
    const std::string computing =
        "<global_preferences>\n<mod_time>1700000000</mod_time>\n<run_on_batteries/>\n"
        "<max_ncpus_pct>55.000000</max_ncpus_pct>\n<max_bytes_sec_up>2048</max_bytes_sec_up>\n"
        "<day_prefs>\n<day_of_week>1</day_of_week>\n</day_prefs>\n<venue name=\"work\">\n"
        "<cpu_usage_limit>12.5</cpu_usage_limit>\n</venue>\n</global_preferences>";
    const auto add = [&](const std::string& name, char choice, const std::string& text) {
        corpus.add(name, bytes_of(choice + text));
    };
    add("jobs", 1, jobs);
    add("computing", 3, computing);
    add("without_venue", 5, computing);
    add("managed", 8, jobs + "\n%%\n" + jobs);
    add("managed_computing", 10, "\n%%\n" + computing);
}

void write_config_files(const std::filesystem::path& root) {
    const Corpus corpus(root, "config_xml");
    const auto add = [&](const std::string& name, char choice, const std::string& text) {
        corpus.add(name, bytes_of(choice + text));
    };
    add("config", 1,
        "<?xml version=\"1.0\" ?>\n<boinc>\n  <config>\n    <long_name>A &amp; B</long_name>\n"
        "    <!-- <x> -->\n  </config>\n  <daemons>\n    <daemon><cmd>feeder -d 3</cmd></daemon>\n"
        "  </daemons>\n  <tasks/>\n</boinc>\n");
    add("empty_daemons", 2, "<boinc>\r\n\t<daemons a='>'/>\r\n</boinc>\r\n");
    add("sections", 0, "<boinc><![CDATA[</boinc>]]>text<?pi?><b>x</b><!-- > --></boinc>");
}

/// A header of a tar archive, and the contents.
std::string tar_file(const std::string& name, const std::string& text) {
    std::string header(512, '\0');
    const auto put = [&](std::size_t at, const std::string& field) {
        header.replace(at, field.size(), field);
    };
    put(0, name);
    put(100, "0000600");
    put(124, fmt::format("{:011o}", text.size()));
    put(136, "00000000000");
    put(148, "        ");
    put(156, "0");
    put(257, std::string{"ustar\0"
                         "00",
                         8});
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(148, fmt::format("{:06o}", sum) + '\0');
    return header + text + std::string((512 - text.size() % 512) % 512, '\0');
}

/// As fuzz_archive.cpp reads them.
void write_archives(const std::filesystem::path& root) {
    const Corpus corpus(root, "archive");
    const auto piece = [](const std::string& text) {
        return static_cast<char>(text.size()) + text;
    };
    corpus.add("tar",
               bytes_of('\0' + tar_file("a/b", "one\n") +
                        tar_file("SHA256SUMS",
                                 "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"
                                 "  a/b\n") +
                        std::string(1024, '\0')));
    corpus.add("whole", bytes_of('\1' + piece("") + piece("a/b") + piece("one") + piece("c") +
                                 piece("two")));
    corpus.add("damaged",
               bytes_of('\1' + piece(std::string{"\0\x30\x08", 3}) + piece("a") + piece("one")));
    corpus.add("unsafe", bytes_of('\1' + piece("") + piece("../a") + piece("one")));
    corpus.add("two_slashes", bytes_of('\1' + piece("") + piece("a/b") + piece("one") +
                                       piece("a//b") + piece("two")));
}

/// As fuzz_door_*.cpp read them: the kind of database, and choices. An input is a recipe, so a few
/// short ones reach every template.
void write_doors(const std::filesystem::path& root) {
    for (const char* const door : {"scheduler", "accounts", "uploads", "gateway"}) {
        const Corpus corpus(root, std::string{"door_"} + door);
        for (char database = 0; database < 3; ++database) {
            const std::string kind(1, database);
            corpus.add("plain_" + std::to_string(database), bytes_of(kind));
            corpus.add("odd_" + std::to_string(database),
                       bytes_of(kind + std::string{"\2\7\1\4\0\22\0\46\1\32\3\12\4\51\5\7\0\3"
                                                   "\5\1\2\4\2\33\0\50\0\65\1\43",
                                                   30}));
        }
    }
}

}  // namespace

void write_server_seeds(const std::filesystem::path& root) {
    write_scheduler_requests(root);
    write_uploads(root);
    write_accounts(root);
    write_gateway(root);
    write_model_folders(root);
    write_labelled_files(root);
    write_tokenizers(root);
    write_control(root);
    write_job_documents(root);
    write_preferences(root);
    write_config_files(root);
    write_archives(root);
    write_doors(root);
}

}  // namespace dedloc::fuzz
