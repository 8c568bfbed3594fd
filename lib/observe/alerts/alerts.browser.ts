import { type AlertState, alertsPath } from "@/lib/observe/alerts/alert-paths.pure";
import type { AlertAcknowledge, AlertList, AlertOut } from "@/lib/observe/alerts/alerts.shapes";
import type { AlertWatch } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import type {
  AlertRuleChange,
  AlertRuleList,
  AlertRuleOut,
  AlertRuleRequest,
  AlertTrialOut,
} from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { unlessUnchanged } from "@/lib/platform/browser/changes.browser";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { firstPageEvery, usePages } from "@/lib/platform/browser/pages.browser";
import { resourceOf, useChange, useRead } from "@/lib/platform/browser/resource.browser";

const POLL_MS = 5_000;

export function useAlerts(state: AlertState, params: { source?: string; rule?: string } = {}) {
  return usePages<AlertList>("alerts", alertsPath(state, params), firstPageEvery(POLL_MS), {
    persister: unlessUnchanged,
  });
}

export const useAlert = (id: string) =>
  useRead<AlertOut>("alerts", `/api/v1/alerts/${encodeURIComponent(id)}`, {
    refetchInterval: POLL_MS,
    persister: unlessUnchanged,
  });

type Acknowledged = { changed: number; unchanged: number };

export const useAcknowledge = () =>
  useChange("alerts", (body: AlertAcknowledge) =>
    fetchJson<Acknowledged>("/api/v1/alerts/acknowledge", { method: "POST", body }),
  );

export function useAlertRules() {
  return usePages<AlertRuleList>("alert-rules", "/api/v1/alert-rules?limit=200", firstPageEvery(3 * POLL_MS));
}

export const alertRules = resourceOf<AlertRuleOut, AlertRuleRequest, AlertRuleChange>("/api/v1/alert-rules", "alerts");

/** What a rule would have done; null = what is typed is no rule yet. */
export const useAlertTrial = (watch: AlertWatch | null) =>
  useRead<AlertTrialOut>("alert-rules", "/api/v1/alert-rules/try", {
    asks: watch && { watch },
    retry: false,
    staleTime: 60_000,
  });
