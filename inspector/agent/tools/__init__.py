"""The tools of the product's own agent: confined to the workspace, limited, and asking before they change anything."""
