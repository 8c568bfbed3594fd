import { SkeletonRows } from "@/components/ui/skeleton";

/** The list before its first rows, in its true shape. */
export function ListSkeleton() {
  return (
    <div className="min-h-0 flex-1 overflow-hidden pt-8">
      <SkeletonRows
        rows={48}
        columns={[
          "w-5",
          "w-32",
          "w-16",
          "w-40",
          "hidden w-40 lg:block",
          "w-36",
          "hidden w-28 lg:block",
          "w-14",
          "hidden flex-1 md:block",
        ]}
      />
    </div>
  );
}
