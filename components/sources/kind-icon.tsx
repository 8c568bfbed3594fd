import {
  Box,
  Boxes,
  Cable,
  Cloud,
  Container,
  Database,
  Globe,
  Inbox,
  Layers,
  ListRestart,
  ListTodo,
  type LucideIcon,
  MessagesSquare,
  Network,
  Plug,
  Rabbit,
  Radio,
  Send,
  Server,
  Table,
  Waves,
  Webhook,
  Workflow,
  Zap,
} from "lucide-react";

/** Every icon that a kind may name; all of the icon set would be half a megabyte. */
const ICONS: Record<string, LucideIcon> = {
  box: Box,
  boxes: Boxes,
  cable: Cable,
  cloud: Cloud,
  container: Container,
  database: Database,
  globe: Globe,
  layers: Layers,
  inbox: Inbox,
  "list-restart": ListRestart,
  "list-todo": ListTodo,
  "messages-square": MessagesSquare,
  network: Network,
  plug: Plug,
  rabbit: Rabbit,
  radio: Radio,
  send: Send,
  server: Server,
  table: Table,
  waves: Waves,
  webhook: Webhook,
  workflow: Workflow,
  zap: Zap,
};

export function KindIcon({ icon, size = 16 }: { icon: string; size?: number }) {
  const Icon = ICONS[icon] ?? Inbox;
  return <Icon size={size} aria-hidden className="shrink-0" />;
}
