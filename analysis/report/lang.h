/* lang.h - the languages a report can be written in. */
#ifndef TRSHIM_ANALYSIS_LANG_H
#define TRSHIM_ANALYSIS_LANG_H

enum lang { LANG_EN, LANG_ZH, LANG_MAX };

/* LANG_MAX if `name` is none we have ("en", "zh", "zh_CN.UTF-8", ...). */
enum lang lang_find(const char *name);

/* The language of the environment: LC_ALL, LC_MESSAGES, LANG; English if it is none of ours. */
enum lang lang_default(void);

#endif
