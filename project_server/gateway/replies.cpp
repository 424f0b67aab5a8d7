#include "project_server/gateway/replies.hpp"

#include <httplib.h>

#include "peer/formats/enrolment.hpp"

namespace dedloc::gateway {

void reply(httplib::Response& response, int status, const std::string& json) {
    response.status = status;
    response.set_header("Cache-Control", "no-store");
    response.set_content(json, "application/json");
}

void refuse(httplib::Response& response, int status, std::string_view sentence) {
    reply(response, status, formats::write_enrolment_error(sentence));
}

void refuse_ticket(httplib::Response& response, int status, std::string_view sentence) {
    reply(response, status, formats::write_enrolment_refusal(sentence));
}

void refuse_seat(httplib::Response& response, std::string_view sentence) {
    reply(response, kUnavailable, formats::write_enrolment_full(sentence));
}

}  // namespace dedloc::gateway
