"use client";

import { useEffect, useState } from "react";
import { maxNameLength } from "@/server/protocol/limits.ts";
import { Checkbox } from "../ui/checkbox.tsx";
import { Field } from "../ui/field.tsx";
import { Form, FormFailure, SubmitButton } from "../ui/form.tsx";
import { Notice } from "../ui/notice.tsx";
import type { Outcome } from "../ui/outcome.ts";
import { PersonFields } from "./person-fields.tsx";
import { goTo, signInWithPassword } from "./sign-in-with-password.ts";

export interface FirstRunValues {
  tenantName: string;
  name: string;
  email: string;
  password: string;
  setupCode: string;
  hostConsent: boolean;
}

interface FirstRunFormProps {
  isolation: { kind: "sandboxed"; detail: string } | { kind: "host"; reason: string };
  complete: (values: FirstRunValues) => Promise<Outcome>;
}

export function FirstRunForm({ isolation, complete }: FirstRunFormProps) {
  async function submit(values: Record<string, string>): Promise<Outcome> {
    const { tenantName = "", name = "", email = "", password = "", setupCode = "" } = values;
    const done = await complete({ tenantName, name, email, password, setupCode, hostConsent: values.consent === "on" });
    return done.ok ? signInWithPassword({ email, password }) : done;
  }

  return (
    <Form label="Set up Dormouse" submit={submit} onSuccess={() => goTo("/")}>
      <SetupCodeField />
      <Field
        name="tenantName"
        label="Organisation"
        autoComplete="organization"
        maxLength={maxNameLength}
        required
        hint="A company, a team, or just you."
        messages={{ missing: "Enter a name for the organisation." }}
      />
      <PersonFields />
      <IsolationFound isolation={isolation} />
      <FormFailure />
      <SubmitButton size="large" pendingLabel="Setting up …">
        Create the admin account
      </SubmitButton>
    </Form>
  );
}

/** The address in the terminal has the code in its fragment, which is taken out of the address bar at once. */
function SetupCodeField() {
  const [code, setCode] = useState("");
  useEffect(() => {
    const take = () => {
      const given = new URLSearchParams(window.location.hash.slice(1)).get("code");
      if (given === null) return;
      setCode(given);
      window.history.replaceState(null, "", window.location.pathname);
    };
    take();
    window.addEventListener("hashchange", take);
    return () => window.removeEventListener("hashchange", take);
  }, []);
  return (
    <Field
      name="setupCode"
      label="Set-up code"
      mono
      autoComplete="off"
      spellCheck={false}
      required
      value={code}
      onChange={(event) => setCode(event.target.value)}
      placeholder="XXXX-XXXX-XXXX"
      hint="You will find the code in the terminal where Dormouse was started, at the end of the address."
      messages={{ missing: "Enter the set-up code." }}
    />
  );
}

function IsolationFound({ isolation }: { isolation: FirstRunFormProps["isolation"] }) {
  if (isolation.kind === "sandboxed") {
    return (
      <Notice tone="ok" title="Agents are sandboxed on this machine">
        Confirmed by a test run with {isolation.detail}.
      </Notice>
    );
  }
  return (
    <div className="flex flex-col gap-3">
      <Notice tone="danger" title="Agents are not isolated on this machine">
        {isolation.reason}
      </Notice>
      <Checkbox
        name="consent"
        required
        hint="It can read and change everything that the user running Dormouse can, and use this machine's network."
      >
        I agree that the agent runs as a plain process on this machine.
      </Checkbox>
    </div>
  );
}
