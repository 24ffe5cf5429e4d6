// SPDX-License-Identifier: GPL-2.0-only
/* A request to run, of whoever asks: nothing of it is believed. */
#include "generator.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ether.h>
#include <string.h>

#define MOST_RATE 1000000000u
#define MOST_COUNT 1000000000000u
#define MOST_SECONDS 86400.0

static int parse_number(const json_t *json, const char *key, uint64_t max, uint64_t fallback,
			uint64_t *out)
{
	const json_t *value = json_object_get(json, key);
	double number = json_number_value(value);

	if (!value || json_is_null(value)) {
		*out = fallback;
		return 0;
	}
	if (!json_is_number(value) || number < 0 || number > (double)max ||
	    number != (double)(uint64_t)number)
		return bench_bad(-EINVAL, "\"%s\": a whole number from 0 to %llu", key,
				 (unsigned long long)max);
	*out = json_is_integer(value) ? (uint64_t)json_integer_value(value) : (uint64_t)number;
	return 0;
}

/* Less than one a second is one. */
static int parse_rate(const json_t *json, double *out)
{
	const json_t *value = json_object_get(json, "rate_pps");
	double rate = json_number_value(value);

	if (value && (!json_is_number(value) || !(rate >= 0 && rate <= MOST_RATE)))
		return bench_bad(-EINVAL, "\"rate_pps\": a number from 0 to %u", MOST_RATE);
	*out = rate > 0 && rate < 1 ? 1 : rate;
	return 0;
}

static int parse_length(const json_t *json, struct generator_traffic *traffic)
{
	double seconds = json_number_value(json_object_get(json, "seconds"));
	int ret = parse_number(json, "count", MOST_COUNT, 0, &traffic->count);

	if (ret)
		return ret;
	if (traffic->count ? seconds != 0 : !(seconds > 0 && seconds <= MOST_SECONDS))
		return bench_bad(
			-EINVAL,
			"a duration is needed: either \"seconds\", up to %.0f, or \"count\", of frames",
			MOST_SECONDS);
	traffic->ns = (uint64_t)(seconds * 1e9);
	return 0;
}

static int parse_frame_bytes(const struct generator *generator, const json_t *json,
			     struct generator_traffic *traffic)
{
	const struct generator_source *source = generator->source;
	uint32_t least = traffic->pattern == GENERATOR_SYN ? source->least_syn_bytes
							   : source->least_frame_bytes;
	uint32_t most = source->most_frame_bytes ?: UINT16_MAX;
	uint64_t bytes = least;
	int ret;

	for (size_t i = 0; i < generator->n_tx; i++)
		if (generator->tx[i].mtu + BENCH_ETHERNET_BYTES < most)
			most = generator->tx[i].mtu + BENCH_ETHERNET_BYTES;
	ret = parse_number(json, "frame_bytes", UINT32_MAX, least, &bytes);
	if (!ret && (bytes < least || bytes > most))
		ret = bench_bad(
			-EINVAL,
			"\"frame_bytes\": %s and the MTUs of its ports allow %u to %u, with "
			"FCS",
			source->name, least, most);
	traffic->frame_bytes = (uint32_t)bytes;
	return ret;
}

static int parse_macs(const struct generator *generator, const json_t *json,
		      struct generator_request *request)
{
	const json_t *macs = json_object_get(json, "dst_macs");

	if (json_array_size(macs) != generator->n_tx)
		return bench_bad(-EINVAL,
				 "\"dst_macs\": a list of %zu, the MAC at the other end of each "
				 "sending port",
				 generator->n_tx);
	for (size_t i = 0; i < generator->n_tx; i++) {
		const char *word = json_string_value(json_array_get(macs, i));
		struct ether_addr mac;

		if (!word || !ether_aton_r(word, &mac))
			return bench_bad(-EINVAL, "\"dst_macs\": \"%.40s\" is not a MAC",
					 word ? word : "");
		memcpy(request->dst_macs[i], &mac, sizeof(request->dst_macs[i]));
	}
	return 0;
}

/* Neither unspecified, loopback, IPv4 in disguise, link-local nor multicast. */
static bool is_forwarded_from(const union sixlane_addr *addr)
{
	const uint8_t *bytes = addr->bytes;

	return bytes[0] && bytes[0] != 0xff && !(bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80);
}

static int parse_source(const json_t *json, struct generator_traffic *traffic)
{
	const char *word = json_string_value(json_object_get(json, "src"));

	if (!word || inet_pton(AF_INET6, word, &traffic->src) != 1 ||
	    !is_forwarded_from(&traffic->src))
		return bench_bad(
			-EINVAL,
			"\"src\": \"%.50s\" is not an IPv6 address that a router forwards from",
			word ? word : "");
	return 0;
}

static int parse_pattern(const struct generator *generator, const json_t *json,
			 struct generator_traffic *traffic)
{
	const char *word = json_string_value(json_object_get(json, "pattern"));

	for (int i = 0; i < GENERATOR_N_PATTERNS && word; i++) {
		if (strcmp(word, generator_pattern_names[i]) != 0)
			continue;
		traffic->pattern = (enum generator_pattern)i;
		if (generator->source->takes[i])
			return 0;
		return bench_bad(-EOPNOTSUPP, "\"pattern\": no %s by this generator, since %s",
				 word, generator->source->refuses);
	}
	return bench_bad(-EINVAL, "\"pattern\": random, flow, miss or syn");
}

int generator_parse(const struct generator *generator, const json_t *json,
		    struct generator_request *out)
{
	struct generator_request request = { 0 };
	struct generator_traffic *traffic = &request.traffic;
	uint64_t hops = 1;
	int ret = parse_rate(json, &traffic->rate_pps)
			  ?: parse_number(json, "seed", INT64_MAX, 1, &traffic->seed)
			  ?: parse_number(json, "hops", 31, 1, &hops)
			  ?: parse_length(json, traffic)
			  ?: parse_pattern(generator, json, traffic)
			  ?: parse_frame_bytes(generator, json, traffic)
			  ?: parse_macs(generator, json, &request)
			  ?: parse_source(json, traffic);

	if (ret)
		return ret;
	request.hops = (uint8_t)hops;
	request.latency = json_is_true(json_object_get(json, "latency"));
	request.prefixes = json_string_value(json_object_get(json, "prefixes"));
	if (!request.prefixes)
		return bench_bad(-EINVAL, "\"prefixes\" is needed: a file on this machine");
	if (request.latency && !generator->n_rx)
		return bench_bad(-EINVAL, "\"latency\": nothing receives (--rx)");
	*out = request;
	return 0;
}
