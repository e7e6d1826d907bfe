/**
 * HTTP dates (RFC 9110, 5.6.7): all three forms are read, one is written.
 *
 * We refused `Date.parse`, because it accepts nearly anything ("0", "18 Aug 50", other time zones).
 * A cache that reads an invalid Expires as a date in the future serves responses that it must not
 * (RFC 9111, 5.3: an invalid date, above all "0", is a time in the past). Only the three forms are
 * accepted, with one leniency: letters may be in any case, because servers that write THU or gmt
 * clearly mean a date. There must be the name of a weekday, but it is not checked against the date.
 *
 * Limits: only the years 0 to 9999, and the two-digit years of the RFC 850 form depend on the
 * current year.
 */

/**
 * Milliseconds since 1970, or null if the text is not an HTTP date. `now` resolves two-digit years.
 */
export function parseHttpDate(text: string, now: number): number | null {
  // The longest form is `Wednesday, 09-Nov-94 08:49:37 GMT`; longer text cannot be a date.
  if (text.length < 24 || text.length > 33) return null;
  let match = IMF_FIXDATE.exec(text);
  if (match !== null) return timestamp(Number(match[3]), match[2]!, match[1]!, match, 4);
  match = RFC_850.exec(text);
  if (match !== null) {
    // RFC 9110, 5.6.7: two digits that seem more than 50 years ahead mean the most recent past year
    // with these digits.
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

/** Formats a time as IMF-fixdate, the only form that may be sent. */
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
  // `Date.UTC` maps the years 0 to 99 to 1900 to 1999.
  return year > 99 ? time : new Date(time).setUTCFullYear(year);
}

function daysIn(month: number, year: number): number {
  if (month !== 1) return MONTH_DAYS[month]!;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
