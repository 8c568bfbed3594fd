import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import type { DeviceDecision, DeviceShown } from "./device-sign-ins.shapes";

const post = <Answer>(path: string, body: unknown) =>
  fetchJson<Answer>(`/api/v1/device-sign-ins/${path}`, { method: "POST", body });

export const lookAtDeviceSignIn = (code: string) => post<DeviceShown>("look", { code });
export const decideDeviceSignIn = (decision: DeviceDecision) => post<void>("decide", decision);
