// SPDX-License-Identifier: GPL-2.0-only
/*
 * One table of settings: name, type, bounds and place. The file (libconfig) and the command line
 * use the same checks, and so accept the same values.
 */
#include "config.h"

#include <errno.h>
#include <libconfig.h>
#include <linux/if.h> /* ALTIFNAMSIZ, behind net/if.h */
#include <stdarg.h>
#include <string.h>

#include "../guard/guard.h"
#include "../lib/input.h"

enum setting_type {
	SETTING_UINT,
	SETTING_BOOL,
	SETTING_PORTS,
	SETTING_WORD,
	SETTING_BYPASS,
	SETTING_PATH
};

struct setting {
	const char *name;
	size_t offset;
	const char *const *words; /* SETTING_WORD: [n_words], each at its value */
	uint32_t n_words;
	enum setting_type type;
	uint32_t min, max; /* SETTING_UINT */
};

#define WORDS_LEN 128
#define WORDS(list) .words = (list), .n_words = ARRAY_SIZE(list)

#define SETTING(setting_name, member, kind, ...)                                                   \
	{                                                                                          \
		.name = (setting_name), .type = (kind), .offset = offsetof(struct config, member), \
		__VA_ARGS__                                                                        \
	}

static const char *const exceptions_names[] = {
	[CONFIG_EXCEPTIONS_KERNEL] = "kernel",
	[CONFIG_EXCEPTIONS_ALWAYS] = "always",
	[CONFIG_EXCEPTIONS_OBSERVE] = "observe",
};

static const char *const fib_names[] = {
	[SIXLANE_ENGINE_COMPILED] = "compiled",
	[SIXLANE_ENGINE_TRIE] = "trie",
};

static const struct setting settings[] = {
	SETTING("ports", ports, SETTING_PORTS),
	SETTING("pass_ports", pass_ports, SETTING_PORTS),
	SETTING("assume_ndo_xmit", assume_xmit, SETTING_PORTS),
	SETTING("mode", mode, SETTING_WORD, WORDS(loader_mode_names)),
	SETTING("log_level", log_level, SETTING_WORD, WORDS(log_level_names)),
	SETTING("object", object, SETTING_PATH),
	SETTING("max_routes", max_routes, SETTING_UINT, .min = 1, .max = SIXLANE_MAX_ROUTES),
	SETTING("rcvbuf", rcvbuf_bytes, SETTING_UINT, .min = 4096, .max = 1u << 30),
	SETTING("poll_ms", poll_ms, SETTING_UINT, .min = 10, .max = 60000),
	SETTING("fib", fib, SETTING_WORD, WORDS(fib_names)),
	SETTING("audit_permille", audit_permille, SETTING_UINT, .min = 0, .max = 1000),
	SETTING("exceptions", exceptions, SETTING_WORD, WORDS(exceptions_names)),
	SETTING("max_exceptions", max_exceptions, SETTING_UINT, .min = 1,
		.max = SIXLANE_MAX_KERNEL_EXCEPTIONS),
	SETTING("answer_rate", answer_rate, SETTING_UINT, .min = 0, .max = 1000000000),
	SETTING("answer_too_big", answer_too_big, SETTING_BOOL),
	SETTING("bypass", bypass, SETTING_BYPASS),
	SETTING("pass_all", pass_all, SETTING_BOOL),
	SETTING("teardown", teardown, SETTING_BOOL),
};

void config_defaults(struct config *config)
{
	*config = (struct config){
		.mode = LOADER_NATIVE,
		.log_level = LOG_INFO,
		.max_routes = SIXLANE_MAX_ROUTES,
		.rcvbuf_bytes = 64u << 20,
		.poll_ms = 500,
		.audit_permille = 5,
		.fib = SIXLANE_ENGINE_COMPILED,
		.max_exceptions = 65536,
		.answer_rate = 10000,
	};
	snprintf(config->object, sizeof(config->object), "%s", loader_object_path());
}

_Static_assert(sizeof(enum loader_mode) == sizeof(uint32_t) &&
		       sizeof(enum log_level) == sizeof(uint32_t) &&
		       sizeof(enum config_exceptions) == sizeof(uint32_t),
	       "a word's value is stored as a uint32_t");
_Static_assert(CONFIG_PORT_NAME_LEN == ALTIFNAMSIZ, "any name of a device fits");

static const struct setting *find_setting(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (!strcmp(settings[i].name, name))
			return &settings[i];
	return NULL;
}

/* Returns -EINVAL. */
static int __attribute__((format(printf, 2, 3))) refuse(char *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, CONFIG_ERR, format, args);
	va_end(args);
	return -EINVAL;
}

static int refuse_name(char *err, const char *name)
{
	int used = snprintf(err, CONFIG_ERR, "unknown setting \"%.64s\"; the known settings are",
			    name);

	for (size_t i = 0; i < ARRAY_SIZE(settings) && used < CONFIG_ERR; i++)
		used += snprintf(err + used, CONFIG_ERR - (size_t)used, "%s %s", i ? "," : "",
				 settings[i].name);
	return -EINVAL;
}

static int set_uint(const struct setting *setting, uint32_t *out, long long value, char *err)
{
	if (value < setting->min || value > setting->max)
		return refuse(err, "%s is %lld; it must be between %u and %u", setting->name, value,
			      setting->min, setting->max);
	*out = (uint32_t)value;
	return 0;
}

/* The words of a setting, as in "a, b or c". */
static const char *words_of(const struct setting *setting, char buf[WORDS_LEN])
{
	int used = 0;

	for (uint32_t i = 0; i < setting->n_words && used < WORDS_LEN; i++)
		used += snprintf(buf + used, WORDS_LEN - (size_t)used, "%s%s",
				 !i			    ? ""
				 : i + 1 < setting->n_words ? ", "
							    : " or ",
				 setting->words[i]);
	return buf;
}

static int set_word(const struct setting *setting, uint32_t *out, const char *value, char *err)
{
	char words[WORDS_LEN];

	for (uint32_t i = 0; i < setting->n_words; i++) {
		if (!strcmp(setting->words[i], value)) {
			*out = i;
			return 0;
		}
	}
	return refuse(err, "%s is \"%.60s\"; it must be %s", setting->name, value,
		      words_of(setting, words));
}

static int add_bypass(uint32_t *out, const char *value, char *err)
{
	for (int cause = 0; cause < GUARD_N_CAUSES; cause++) {
		if (strcmp(guard_cause_names[cause], value) != 0)
			continue;
		*out |= 1u << cause;
		return 0;
	}
	return refuse(err, "bypass holds \"%.60s\"; it may hold netfilter, xfrm and tc", value);
}

static int add_port(const struct setting *setting, struct config_ports *ports, const char *value,
		    char *err)
{
	size_t len = strlen(value);

	if (!len || len >= CONFIG_PORT_NAME_LEN || strpbrk(value, "/ \t\n\v\f\r"))
		return refuse(
			err,
			"%s holds \"%.60s\"; an interface name has 1 to %d characters and no slash or space",
			setting->name, value, CONFIG_PORT_NAME_LEN - 1);
	if (ports->n == CONFIG_MAX_PORTS)
		return refuse(err, "%s holds more than %d interfaces", setting->name,
			      CONFIG_MAX_PORTS);
	memcpy(ports->names[ports->n++], value, len + 1);
	return 0;
}

static int set_path(const struct setting *setting, char out[4096], const char *value, char *err)
{
	if (!*value || strlen(value) >= 4096)
		return refuse(err, "%s must be a path of 1 to 4095 characters", setting->name);
	snprintf(out, 4096, "%s", value);
	return 0;
}

static int set_string(struct config *config, const struct setting *setting, const char *value,
		      char *err)
{
	void *place = (char *)config + setting->offset;

	switch (setting->type) {
	case SETTING_PORTS:
		return add_port(setting, place, value, err);
	case SETTING_WORD:
		return set_word(setting, place, value, err);
	case SETTING_BYPASS:
		return add_bypass(place, value, err);
	case SETTING_PATH:
		return set_path(setting, place, value, err);
	case SETTING_UINT:
		return refuse(err,
			      "%s is a string; it must be a number from %u to %u without quotes",
			      setting->name, setting->min, setting->max);
	case SETTING_BOOL:
		break;
	}
	return refuse(err, "%s must be true or false, without quotes", setting->name);
}

int config_set(struct config *config, const char *name, const char *value, char *err)
{
	const struct setting *setting = find_setting(name);
	void *place;
	char *end;
	long long number;

	if (!setting)
		return refuse_name(err, name);
	place = (char *)config + setting->offset;
	if (setting->type == SETTING_BOOL) {
		*(bool *)place = true;
		return 0;
	}
	if (setting->type != SETTING_UINT)
		return set_string(config, setting, value, err);
	errno = 0;
	number = strtoll(value, &end, 10);
	if (errno || end == value || *end)
		return refuse(err, "%s is \"%.60s\"; it must be a number from %u to %u", name,
			      value, setting->min, setting->max);
	return set_uint(setting, place, number, err);
}

static const char *example_of(const struct setting *setting)
{
	return setting->type == SETTING_PORTS ? "\"eth0\", \"eth1\""
					      : "\"netfilter\", \"xfrm\", \"tc\"";
}

static bool is_list(const struct setting *setting)
{
	return setting->type == SETTING_PORTS || setting->type == SETTING_BYPASS;
}

static void clear_list(const struct setting *setting, void *place)
{
	if (setting->type == SETTING_PORTS)
		((struct config_ports *)place)->n = 0;
	else
		*(uint32_t *)place = 0;
}

static int set_list(struct config *config, const struct setting *setting,
		    const config_setting_t *item, char *err)
{
	clear_list(setting, (char *)config + setting->offset);
	for (int i = 0; i < config_setting_length(item); i++) {
		const char *name = config_setting_get_string_elem(item, i);
		int ret;

		if (!name)
			return refuse(err, "%s must hold names in quotes, as in [ %s ]",
				      setting->name, example_of(setting));
		ret = set_string(config, setting, name, err);
		if (ret)
			return ret;
	}
	return 0;
}

static int apply_item(struct config *config, const config_setting_t *item, char *err)
{
	const struct setting *setting = find_setting(config_setting_name(item));
	int type = config_setting_type(item);
	char words[WORDS_LEN];
	void *place;

	if (!setting)
		return refuse_name(err, config_setting_name(item));
	place = (char *)config + setting->offset;
	if (is_list(setting)) {
		if (type == CONFIG_TYPE_ARRAY || type == CONFIG_TYPE_LIST)
			return set_list(config, setting, item, err);
		return refuse(err, "%s must be a list, as in [ %s ]", setting->name,
			      example_of(setting));
	}
	if (setting->type == SETTING_BOOL && type == CONFIG_TYPE_BOOL) {
		*(bool *)place = config_setting_get_bool(item);
		return 0;
	}
	if (setting->type == SETTING_UINT && (type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64))
		return set_uint(setting, place, config_setting_get_int64(item), err);
	if (type == CONFIG_TYPE_STRING)
		return set_string(config, setting, config_setting_get_string(item), err);
	if (setting->type == SETTING_UINT)
		return refuse(err, "%s must be a whole number from %u to %u", setting->name,
			      setting->min, setting->max);
	if (setting->type == SETTING_BOOL)
		return refuse(err, "%s must be true or false", setting->name);
	if (setting->type == SETTING_WORD)
		return refuse(err, "%s must be %s, in quotes", setting->name,
			      words_of(setting, words));
	return refuse(err, "%s must be a path in quotes", setting->name);
}

/* libconfig names included files, but not the outermost one. */
static const char *place_of(const char *included, const char *path)
{
	return included ? included : path;
}

static int apply_file(const char *path, config_t *file, struct config *config, char *err)
{
	const config_setting_t *root = config_root_setting(file);

	for (int i = 0; i < config_setting_length(root); i++) {
		const config_setting_t *item = config_setting_get_elem(root, (unsigned int)i);
		char why[CONFIG_ERR];
		int ret = apply_item(config, item, why);

		if (ret) {
			snprintf(err, CONFIG_ERR, "%.200s:%u: %.300s",
				 place_of(config_setting_source_file(item), path),
				 config_setting_source_line(item), why);
			return ret;
		}
	}
	return 0;
}

int config_load(const char *path, struct config *config, char *err)
{
	_cleanup_fclose_ FILE *stream = input_open(path);
	struct config result = *config;
	config_t file;
	int ret;

	if (!stream) {
		ret = -errno;
		snprintf(err, CONFIG_ERR, "%.200s: %s", path, strerror(-ret));
		return ret;
	}
	path = input_name(path);
	config_init(&file);
	if (config_read(&file, stream) != CONFIG_TRUE) {
		snprintf(err, CONFIG_ERR,
			 "%.200s:%d: %s; a setting is written NAME = VALUE; as in poll_ms = 500;",
			 place_of(config_error_file(&file), path), config_error_line(&file),
			 config_error_text(&file));
		ret = -EINVAL;
	} else {
		ret = apply_file(path, &file, &result, err);
	}
	config_destroy(&file);
	if (!ret)
		*config = result;
	return ret;
}
