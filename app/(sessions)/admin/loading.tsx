import { LoadingLines } from "@/components/ui/loading-lines.tsx";

export default LoadingLines;
