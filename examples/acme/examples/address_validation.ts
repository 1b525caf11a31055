/**
 * Address validation at the packing desk.
 *
 * Tags: address, validation, typescript
 * Source: PRP-32.1.1
 *
 * Checks an address while it is typed and returns a verdict with reasons. The
 * check suggests and never corrects: a changed address needs a person's click.
 * Postal codes are text, because "01067" is not the number 1067.
 */

export type Verdict = "ok" | "suggest" | "reject";

export interface Address {
  name: string;
  street: string;
  postalCode: string;
  city: string;
  country: string;
}

export interface Finding {
  field: keyof Address;
  verdict: Exclude<Verdict, "ok">;
  reason: string;
  suggestion?: string;
}

export interface CheckResult {
  verdict: Verdict;
  findings: Finding[];
}

const POSTAL_CODE: Record<string, RegExp> = {
  DE: /^\d{5}$/,
  CH: /^[1-9]\d{3}$/,
  NL: /^[1-9]\d{3} [A-Z]{2}$/,
  GB: /^[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}$/,
  KR: /^\d{5}$/,
};

/** Suggest a canonical postal code, or null when there is nothing to suggest. */
export function suggestPostalCode(country: string, code: string): string | null {
  const compact = code.replace(/\s+/g, "").toUpperCase();
  if (country === "NL" && /^[1-9]\d{3}[A-Z]{2}$/.test(compact)) {
    return `${compact.slice(0, 4)} ${compact.slice(4)}`;
  }
  if (country === "GB" && compact.length >= 5 && compact.length <= 7) {
    return `${compact.slice(0, -3)} ${compact.slice(-3)}`;
  }
  if (country === "DE" && /^\d{4}$/.test(compact)) {
    return `0${compact}`; // a spreadsheet has eaten the zero
  }
  return null;
}

function checkPostalCode(address: Address): Finding | null {
  const pattern = POSTAL_CODE[address.country];
  if (!pattern) {
    return { field: "country", verdict: "suggest", reason: "no rule for this country" };
  }
  if (pattern.test(address.postalCode)) return null;
  const suggestion = suggestPostalCode(address.country, address.postalCode);
  if (suggestion !== null && pattern.test(suggestion)) {
    return { field: "postalCode", verdict: "suggest", reason: "unusual spelling", suggestion };
  }
  return { field: "postalCode", verdict: "reject", reason: "not a postal code of this country" };
}

/** Check one address. The verdict is the worst of its findings. */
export function checkAddress(address: Address): CheckResult {
  const findings: Finding[] = [];
  const postal = checkPostalCode(address);
  if (postal) findings.push(postal);
  if (!/\d/.test(address.street)) {
    findings.push({ field: "street", verdict: "suggest", reason: "no house number" });
  }
  for (const field of ["name", "street", "city"] as const) {
    if (address[field].trim() === "") {
      findings.push({ field, verdict: "reject", reason: "must not be empty" });
    }
  }
  const verdict: Verdict = findings.some((f) => f.verdict === "reject")
    ? "reject"
    : findings.length > 0
      ? "suggest"
      : "ok";
  return { verdict, findings };
}
