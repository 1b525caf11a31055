/**
 * Operator console: the client for the parcel API and the breaker banner.
 *
 * Every request of the dashboard goes through CarrierClient, so that the error
 * envelope, the request id and the abort signal are handled in one place.
 */

export type ParcelStatus =
  | "announced"
  | "accepted"
  | "in_transit"
  | "out_for_delivery"
  | "ready_for_pickup"
  | "delivered"
  | "returned";

export interface ParcelView {
  tracking_no: string;
  carrier: string;
  status: ParcelStatus;
  updated_at: string;
}

export interface DeadLetter {
  id: number;
  carrier: string;
  last_error: string;
  attempts: number;
}

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

export interface BreakerView {
  carrier: string;
  state: "closed" | "open" | "half-open";
}

/** The error envelope of the API as an exception. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly requestId: string,
    readonly retryable: boolean,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export class CarrierClient {
  constructor(
    private readonly baseUrl: string,
    private readonly fetchImpl: typeof fetch = fetch,
  ) {}

  /** Status of one parcel. Rejects with ApiError; it never returns stale data. */
  async fetchStatus(trackingNo: string, signal?: AbortSignal): Promise<ParcelView> {
    return this.get<ParcelView>(`/v1/parcels/${encodeURIComponent(trackingNo)}`, signal);
  }

  /** One page of webhook events in state "dead", newest first. */
  async listDeadLetters(cursor: string | null, limit = 50): Promise<Page<DeadLetter>> {
    const query = new URLSearchParams({ limit: String(limit) });
    if (cursor !== null) query.set("cursor", cursor);
    return this.get<Page<DeadLetter>>(`/v1/admin/webhooks/dead?${query}`);
  }

  private async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    const init: RequestInit = { credentials: "include" };
    if (signal) init.signal = signal;
    const response = await this.fetchImpl(this.baseUrl + path, init);
    const body: unknown = await response.json();
    if (!response.ok) {
      const error = (body as { error: Record<string, unknown> }).error;
      throw new ApiError(
        response.status,
        String(error.code),
        String(error.request_id),
        error.retryable === true,
        String(error.message),
      );
    }
    return body as T;
  }
}

/** The sentence above the parcel table, or null when every carrier is healthy. */
export function breakerBanner(breakers: readonly BreakerView[]): string | null {
  const open = breakers.filter((b) => b.state === "open").map((b) => b.carrier);
  if (open.length === 0) return null;
  return `Updates from ${open.sort().join(", ")} are delayed. Parcels keep their last known status.`;
}
