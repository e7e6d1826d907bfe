/**
 * Dates of HTTP (RFC 9110, 5.6.7): read in all three forms, written in one.
 *
 * `Date.parse` was refused: it takes nearly anything ("0", "18 Aug 50", other time zones), and a cache that reads an invalid Expires as
 * a date in the future serves what it must not (RFC 9111, 5.3: an invalid date, above all "0", is a time in the past). So these three
 * forms and nothing else, with one leniency: letters in any case, since servers that write THU or gmt mean what they say. The day of the
 * week is not checked against the date; a name of a day must stand there.
 *
 * Breaks down: years 0 to 9999 only, and the two-digit years of the RFC 850 form need to know the present.
 */

/** Milliseconds since 1970, or null if it is no HTTP date. `now` is for two-digit years. */
export function parseHttpDate(text: string, now: number): number | null {
  // The longest is `Wednesday, 09-Nov-94 08:49:37 GMT`: what is longer need not be looked at.
  if (text.length < 24 || text.length > 33) return null;
  let match = IMF_FIXDATE.exec(text);
  if (match !== null) return timestamp(Number(match[3]), match[2]!, match[1]!, match, 4);
  match = RFC_850.exec(text);
  if (match !== null) {
    // RFC 9110, 5.6.7: two digits that seem more than 50 years ahead mean the most recent past year with these digits.
    const thisYear = new Date(now).getUTCFullYear();
    let year = Math.floor(thisYear / 100) * 100 + Number(match[3]);
    if (year > thisYear + 50) year -= 100;
    else if (year < thisYear - 49) year += 100;
    return timestamp(year, match[2]!, match[1]!, match, 4);
  }
  match = ASCTIME.exec(text);
  if (match !== null) return timestamp(Number(match[6]), match[1]!, match[2]!, match, 3);
  return null;
}

/** As IMF-fixdate, the only form that may be sent. */
export function formatHttpDate(time: number): string {
  return new Date(time).toUTCString();
}

const IMF_FIXDATE = /^(?:mon|tue|wed|thu|fri|sat|sun), (\d\d) ([a-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) gmt$/i;
const RFC_850 =
  /^(?:mon|tues|wednes|thurs|fri|satur|sun)day, (\d\d)-([a-z]{3})-(\d\d) (\d\d):(\d\d):(\d\d) gmt$/i;
const ASCTIME = /^(?:mon|tue|wed|thu|fri|sat|sun) ([a-z]{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})$/i;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

function timestamp(
  year: number,
  monthName: string,
  dayText: string,
  match: RegExpExecArray,
  at: number,
): number | null {
  const month = MONTHS.indexOf(monthName.toLowerCase());
  const day = Number(dayText);
  const hour = Number(match[at]);
  const minute = Number(match[at + 1]);
  const second = Number(match[at + 2]);
  // 60 is a leap second, and is allowed.
  if (month < 0 || hour > 23 || minute > 59 || second > 60) return null;
  // 31 February is not 3 March.
  if (day < 1 || day > daysIn(month, year)) return null;
  const time = Date.UTC(year, month, day, hour, minute, Math.min(second, 59));
  // `Date.UTC` takes the years 0 to 99 for those of the last century.
  return year > 99 ? time : new Date(time).setUTCFullYear(year);
}

function daysIn(month: number, year: number): number {
  if (month !== 1) return MONTH_DAYS[month]!;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
